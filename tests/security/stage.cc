#include "stage.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <thread>

namespace cloche::security {
namespace fs = std::filesystem;
namespace {

constexpr const char* kV1Controllers[] = {"pids", "memory", "cpu", "cpuacct", "freezer"};

// Programs under test, from the build tree; CLOCHE_BINARY_DIR and CLOCHE_SECURITY_DIR come from the build.
std::vector<std::pair<fs::path, std::string>> programs() {
  const fs::path build = CLOCHE_BINARY_DIR;
  return {{build / "cloche", "cloche"},
          {build / "cloche-init", "cloche-init"},
          {build / "weaken", "weaken"},
          {build / "loose-init", "loose-init"}};
}

}  // namespace

DelegatedCgroups::DelegatedCgroups(unsigned uid) {
  if (uid == 0 || ::geteuid() != 0) return;
  for (const char* controller : kV1Controllers) {
    const fs::path dir = fs::path("/sys/fs/cgroup") / controller / name();
    std::error_code error;
    fs::create_directory(dir, error);
    if (error) continue;
    made_.push_back(dir);
    for (const auto& entry : fs::directory_iterator(dir, error)) {
      if (entry.is_regular_file()) (void)!::chown(entry.path().c_str(), uid, uid);
    }
    (void)!::chown(dir.c_str(), uid, uid);
  }
}

std::string DelegatedCgroups::name() { return fmt::format("cloche-sec-{}", ::getpid()); }

DelegatedCgroups::~DelegatedCgroups() {
  // After a kill of the engine its janitor may still be at work below.
  for (int round = 0; round < 1000 && !made_.empty(); ++round) {
    std::erase_if(made_, [](const fs::path& dir) { return ::rmdir(dir.c_str()) == 0 || errno == ENOENT; });
    if (!made_.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

Stage::Stage(Lane lane) : lane_(lane), cgroups_(lane == Lane::kUser && ::geteuid() == 0 ? kUserLaneUid : 0) {
  // Not below /tmp: the cell has a /tmp of its own, and sockets need short names.
  std::string name = "/var/tmp/cloche-sec-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    problem_ = "no directory in /var/tmp";
    return;
  }
  root_ = name;
  fill();
}

void Stage::fill() {
  std::error_code error;
  fs::permissions(root_, fs::perms(0755), error);
  for (const char* dir : {"bin", "victims", "bait-dir", "home"}) fs::create_directory(root_ / dir, error);
  for (const auto& [from, to] : programs()) {
    if (!fs::exists(from)) continue;
    fs::copy_file(from, root_ / "bin" / to, error);
    fs::permissions(root_ / "bin" / to, fs::perms(0755), error);
  }
  if (!has("cloche-init")) problem_ = "cloche-init is not built";
  const fs::path here = CLOCHE_SECURITY_DIR;
  fs::copy_file(here / "bait", root_ / "bait", error);
  for (const auto& entry : fs::directory_iterator(here / "victims", error)) {
    fs::copy_file(entry.path(), root_ / "victims" / entry.path().filename(), error);
  }
  fs::create_directories(root_ / "bait-dir/write", error);
  fs::create_directories(root_ / "bait-dir/evil-target/sub", error);
  fs::create_symlink("../evil-target", root_ / "bait-dir/write/evil", error);
  constexpr const char* kEnvironment = "[env]\npass = [\"BAIT_*\"]\n";
  std::ofstream(root_ / "policy.toml") << "version = 1\nextends = \"untrusted\"\n" << kEnvironment;
  // Code of low trust never runs on tier 0.
  std::ofstream(root_ / "policy-process.toml")
      << "version = 1\nextends = \"untrusted\"\ntier = \"process\"\ntrust = \"medium\"\n"
      << kEnvironment;
  if (::geteuid() == 0 && lane_ == Lane::kUser) {
    // The user owns the engine's programs, so that only the cell keeps the guest from writing to them.
    for (const char* owned : {"bin", "bin/cloche", "bin/cloche-init", "bin/weaken", "bin/loose-init", "home",
                              "bait-dir", "bait-dir/write"}) {
      (void)!::chown((root_ / owned).c_str(), kUserLaneUid, kUserLaneUid);
    }
  }
  // The one file that stays root's, set-uid: what a hostile file system could hold.
  const fs::path helper = root_ / "victims/23_setuid_helper";
  fs::copy_file(root_ / "victims/23_setuid", helper, error);
  if (::geteuid() == 0) (void)!::chmod(helper.c_str(), 04755);
}

Stage::~Stage() {
  std::error_code ignored;
  if (!root_.empty()) fs::remove_all(root_, ignored);
}

std::map<std::string, std::string> Stage::environment() const {
  std::map<std::string, std::string> out{{"HOME", path("home")},
                                         {"CLOCHE_STATE_DIR", path("home/state")},
                                         {"BAIT_SETUID_HELPER", victim("23_setuid_helper")},
                                         {"BAIT_ENGINE", path("bin/cloche")},
                                         {"BAIT_EVIL_TARGET", bait_dir() + "/evil-target"}};
  // Two stages of one process share it; two processes do not.
  if (lane_ == Lane::kUser && delegated()) out["CLOCHE_CGROUP"] = DelegatedCgroups::name();
  return out;
}

std::string Stage::expand(std::string text) const {
  const std::pair<std::string, std::string> names[] = {{"@READ@", bait_dir() + "/read"},
                                                       {"@WRITE@", bait_dir() + "/write"},
                                                       {"@DIR@", bait_dir()},
                                                       {"@BIN@", path("bin")}};
  for (const auto& [from, to] : names) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from)) text.replace(at, from.size(), to);
  }
  return text;
}

void Stage::append(std::vector<std::string>& to, const std::vector<std::string>& from) const {
  for (const std::string& word : from) to.push_back(expand(word));
}

std::vector<std::string> Stage::among_bait(const std::vector<std::string>& bait,
                                           const std::vector<std::string>& command) const {
  std::vector<std::string> out{path("bait"), "--dir", bait_dir()};
  if (lane_ == Lane::kUser && ::geteuid() == 0) {
    out.insert(out.end(), {"--uid", std::to_string(kUserLaneUid)});
  }
  append(out, bait);
  out.push_back("--");
  append(out, command);
  return out;
}

std::vector<std::string> Stage::cloche_run(Cellar cellar, const std::vector<std::string>& options,
                                           const std::string& victim_name, const std::vector<std::string>& args,
                                           const Removal& without) const {
  std::vector<std::string> out{engine(without)};
  for (const std::string& what : without) out.insert(out.end(), {"--without", expand(what)});
  const bool process = cellar == Cellar::kProcess;
  out.emplace_back("run");
  if (without.empty()) out.emplace_back("--quiet");  // why a weakened engine gave up is worth knowing
  out.insert(out.end(), {"--policy", path(process ? "policy-process.toml" : "policy.toml"), "--exec", path("victims"),
                         "--backend", cellar == Cellar::kBwrap ? "bwrap" : "native"});
  if (std::ranges::find(options, "--wall") == options.end()) out.insert(out.end(), {"--wall", "20s"});
  // Without delegated cgroups an ordinary user has only rlimits; the policy has to say that this is enough.
  if (lane_ == Lane::kUser && !delegated()) out.insert(out.end(), {"--set", "limits.mode=best-effort"});
  append(out, options);
  out.insert(out.end(), {"--", victim(victim_name)});
  append(out, args);
  return out;
}

}  // namespace cloche::security
