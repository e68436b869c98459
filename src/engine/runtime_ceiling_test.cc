// The operator's ceiling lies in /etc, so these tests put an /etc of their own in a mount namespace of their own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "engine/runtime_support.h"

namespace cloche {
namespace {

enum Answer : int { kYes = 0, kNo = 1, kNoNamespace = 2 };

bool put(const char* path, std::string_view text) {
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  const bool whole = fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) ::close(fd);
  return whole;
}

bool own_etc(std::string_view ceiling) {
  const std::string uid = std::to_string(::geteuid());
  const bool root = ::geteuid() == 0;
  if (::unshare(root ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0) return false;
  if (!root && !put("/proc/self/uid_map", uid + " " + uid + " 1")) return false;
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("none", "/etc", "tmpfs", 0, "size=64k") == 0 && ::mkdir("/etc/cloche", 0755) == 0 &&
         put(kSystemCeiling, ceiling);
}

// Asks in a process of its own, whose /etc holds this ceiling.
int under(std::string_view ceiling, const std::function<bool()>& question) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(!own_etc(ceiling) ? kNoNamespace : question() ? kYes : kNo);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The message of a run of /usr/bin/true with so many processes; empty if it was not refused.
std::string refusal_with_pids(const char* pids) {
  auto runtime = support::runtime();
  auto policy = support::builder().limit("pids", pids).build();
  if (!runtime || !policy) return "not made";
  const RunResult result = runtime->run(*policy, {.argv = {"/usr/bin/true"}});
  return result.outcome == "refused" ? result.message : "";
}

constexpr std::string_view kEightPids = "version = 1\n[limits]\npids = 8\n";

TEST(RuntimeCeiling, NoPolicyOfAHostProgramExceedsTheOperators) {
  const int answer = under(kEightPids, [] { return refusal_with_pids("9").find("limits.pids") != std::string::npos; });
  if (answer == kNoNamespace) GTEST_SKIP() << "fact: no mount namespace can be made";
  EXPECT_EQ(answer, kYes);
}

TEST(RuntimeCeiling, WhatStaysBelowItIsNotRefusedForIt) {
  const int answer = under(kEightPids, [] { return refusal_with_pids("8").find("limits.pids") == std::string::npos; });
  if (answer == kNoNamespace) GTEST_SKIP() << "fact: no mount namespace can be made";
  EXPECT_EQ(answer, kYes);
}

TEST(RuntimeCeiling, OneThatCannotBeReadLetsNothingRun) {
  const int answer = under("pids = eight", [] {
    RuntimeOptions options;
    options.init_path = support::kInit;
    return !Runtime::create(options);
  });
  if (answer == kNoNamespace) GTEST_SKIP() << "fact: no mount namespace can be made";
  EXPECT_EQ(answer, kYes);
}

}  // namespace
}  // namespace cloche
