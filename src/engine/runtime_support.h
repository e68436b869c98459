// What the tests of the library share.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "cloche/cloche.h"

namespace cloche::support {

// Beside the keeper; in another place where the build's own is out of reach (tests/as_an_ordinary_user).
inline const std::string kInitPath = [] {
  const char* place = std::getenv("CLOCHE_TEST_DIR");
  return std::string(place != nullptr ? place : CLOCHE_BINARY_DIR) + "/cloche-init";
}();
inline const char* const kInit = kInitPath.c_str();

// Best effort, because an ordinary user on a machine without delegated cgroups is a user, too.
inline PolicyBuilder builder() {
  PolicyBuilder out("untrusted");
  out.limit("mode", "best-effort").limit("memory", "64M").limit("wall", "100s");
  return out;
}

inline PolicyHandle policy() {
  auto built = builder().build();
  EXPECT_TRUE(built) << built.error();
  return *built;
}

inline std::unique_ptr<Runtime> runtime() {
  RuntimeOptions options;
  options.init_path = kInit;
  auto made = Runtime::create(options);
  EXPECT_TRUE(made) << made.error();
  return made ? std::move(*made) : nullptr;
}

// Waits for a condition that will hold; false after the time that no healthy machine needs.
inline bool eventually(const std::function<bool()>& condition,
                       std::chrono::seconds patience = std::chrono::seconds(30)) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// Neither alive nor a zombie.
inline bool no_children() { return ::waitpid(-1, nullptr, WNOHANG | __WALL) == -1 && errno == ECHILD; }

// Cgroups and tier-0 work directories that carry a run's id.
inline std::set<std::string> left_behind(const std::set<std::string>& ids) {
  namespace fs = std::filesystem;
  std::set<std::string> out;
  constexpr auto kOptions = fs::directory_options::skip_permission_denied;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator("/sys/fs/cgroup", kOptions, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (ids.contains(name.substr(name.rfind('-') + 1))) out.insert(it->path().string());
  }
  for (const std::string& id : ids) {
    if (fs::exists("/tmp/cloche-" + id)) out.insert("/tmp/cloche-" + id);
  }
  return out;
}

// The guest runs; an outcome of "refused" on a machine without namespaces is a fact and no failure.
inline std::string missing_fact(Runtime& runtime) {
  if (::access(kInit, X_OK) != 0) return "cloche-init is not built";
  const RunResult result = runtime.run(policy(), {.argv = {"/usr/bin/true"}});
  if (result.outcome == "refused" && result.message.find("user namespaces") != std::string::npos) return result.message;
  return {};
}

}  // namespace cloche::support
