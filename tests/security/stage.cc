#include "stage.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <thread>

#include "tree_state.h"

namespace cloche::security {
namespace fs = std::filesystem;
namespace {

constexpr const char* kV1Controllers[] = {"pids", "memory", "cpu", "cpuacct", "freezer"};

// Programs under test, from the build tree; CLOCHE_BINARY_DIR comes from the build.
std::vector<std::pair<fs::path, std::string>> programs() {
  const fs::path build = CLOCHE_BINARY_DIR;
  return {{build / "cloche", "cloche"},
          {build / "cloche-init", "cloche-init"},
          {build / "cloche-gateway", "cloche-gateway"},
          {build / "weaken", "weaken"},
          {build / "loose-init", "loose-init"}};
}

// The workspace takes the place of the grant for writing, and of another working directory.
std::vector<std::string> with_workspace(Cellar cellar, const std::vector<std::string>& options) {
  std::vector<std::string> out{"--workspace", "@WRITE@", "--workspace-mode", to_string(cellar)};
  for (std::size_t i = 0; i < options.size(); ++i) {
    const bool is_tree = (options[i] == "--write" || options[i] == "--workspace") && options[i + 1] == "@WRITE@";
    const bool replaced = options[i] == "--cwd" || is_tree;
    if (replaced) {
      ++i;
    } else {
      out.push_back(options[i]);
    }
  }
  return out;
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
  const fs::path here = fs::path(CLOCHE_BINARY_DIR) / "attacks";
  fs::copy_file(here / "bait", root_ / "bait", error);
  for (const auto& entry : fs::directory_iterator(here, error)) {
    if (entry.path().filename() == "bait" || entry.path().filename() == "manifest") continue;
    fs::copy_file(entry.path(), root_ / "victims" / entry.path().filename(), error);
  }
  fs::create_directories(root_ / "bait-dir/evil-target/sub", error);
  fill_tree();
  constexpr const char* kEnvironment = "[env]\npass = [\"BAIT_*\"]\n";
  std::ofstream(root_ / "policy.toml") << "version = 1\nextends = \"untrusted\"\n" << kEnvironment;
  // Code of low trust never runs on tier 0.
  std::ofstream(root_ / "policy-process.toml")
      << "version = 1\nextends = \"untrusted\"\ntier = \"process\"\ntrust = \"medium\"\n"
      << kEnvironment;
  if (::geteuid() == 0 && lane_ == Lane::kUser) {
    // The user owns the engine's programs, so that only the cell keeps the guest from writing to them.
    for (const char* owned : {"bin", "bin/cloche", "bin/cloche-init", "bin/cloche-gateway", "bin/weaken",
                              "bin/loose-init", "home", "bait-dir"}) {
      (void)!::chown((root_ / owned).c_str(), kUserLaneUid, kUserLaneUid);
    }
    (void)!::chown(tree().c_str(), kUserLaneUid, kUserLaneUid);
    for (const auto& entry : fs::recursive_directory_iterator(tree(), error)) {
      (void)!::lchown(entry.path().c_str(), kUserLaneUid, kUserLaneUid);
    }
  }
  // The one file that stays root's, set-uid: what a hostile file system could hold.
  const fs::path helper = root_ / "victims/23_setuid_helper";
  fs::copy_file(root_ / "victims/23_setuid", helper, error);
  if (::geteuid() == 0) (void)!::chmod(helper.c_str(), 04755);
}

// What is granted for writing, or is the workspace: of every kind of thing one, so that a change to any is seen.
void Stage::fill_tree() {
  const fs::path top = tree();
  std::error_code error;
  for (const char* dir : {"folder/deep", "granted", "empty"}) fs::create_directories(top / dir, error);
  for (const char* file : {"file", "tool", "locked", "first", "folder/inner", "folder/deep/inner", "granted/file"}) {
    std::ofstream(top / file) << "this is the host's " << file << "\n";
  }
  fs::create_symlink("../evil-target", top / "evil", error);
  fs::create_symlink("file", top / "link", error);
  fs::create_hard_link(top / "first", top / "second", error);
  fs::permissions(top / "tool", fs::perms(0755), error);
  fs::permissions(top / "locked", fs::perms(0600), error);
  fs::permissions(top, fs::perms(0777), error);
  (void)!::setxattr((top / "file").c_str(), "user.note", "the host's", 10, 0);
  sockaddr_un address{AF_UNIX, {}};
  const std::string name = (top / "socket").string();
  if (name.size() >= sizeof address.sun_path) return;
  name.copy(address.sun_path, sizeof address.sun_path - 1);
  socket_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket_.get(), 8) != 0 || ::chmod(name.c_str(), 0777) != 0) {
    problem_ = "no socket in the tree";
  }
}

std::string Stage::change_of_tree(const std::string& before) const {
  return first_difference(before, state_of(tree()));
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
  // Nobody goes there; what counts is that a gateway could.
  if (cellar == Cellar::kWayOut) {
    out.insert(out.end(), {"--allow-net", "api.example.org:443", "--allow-net", "203.0.113.7:8080"});
  }
  append(out, has_workspace(cellar) ? with_workspace(cellar, options) : options);
  out.insert(out.end(), {"--", victim(victim_name)});
  append(out, args);
  return out;
}

}  // namespace cloche::security
