#include "outside.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>

namespace cloche::security {
namespace fs = std::filesystem;
namespace {

std::vector<pid_t> all_processes() {
  std::vector<pid_t> out;
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    if (name.find_first_not_of("0123456789") == std::string::npos) out.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return out;
}

std::vector<std::string> arguments_of(pid_t pid) {
  std::vector<std::string> out;
  std::istringstream text(proc_file(pid, "cmdline"));
  for (std::string word; std::getline(text, word, '\0');) out.push_back(word);
  return out;
}

bool is_launcher(const std::string& program) {
  const std::string name = fs::path(program).filename();
  return name == "cloche" || name == "bait" || name == "weaken" || name == "containment_test" || name == "bwrap";
}

}  // namespace

std::string proc_file(pid_t pid, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<pid_t> guests_with(const std::string& token) {
  std::vector<pid_t> out;
  for (const pid_t pid : all_processes()) {
    const auto arguments = arguments_of(pid);
    if (arguments.empty() || is_launcher(arguments[0])) continue;
    if (std::ranges::find(arguments, token) != arguments.end()) out.push_back(pid);
  }
  return out;
}

std::vector<pid_t> processes_of(const std::string& program) {
  std::vector<pid_t> out;
  for (const pid_t pid : all_processes()) {
    const auto arguments = arguments_of(pid);
    if (!arguments.empty() && arguments[0] == program) out.push_back(pid);
  }
  return out;
}

std::string status_field(pid_t pid, const std::string& field) {
  std::istringstream text(proc_file(pid, "status"));
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with(field + ":\t")) return line.substr(field.size() + 2);
  }
  return {};
}

pid_t parent_of(pid_t pid) {
  const std::string text = status_field(pid, "PPid");
  return text.empty() ? -1 : static_cast<pid_t>(std::stol(text));
}

std::vector<std::string> descriptors_of(pid_t pid) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator at("/proc/" + std::to_string(pid) + "/fd", error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;
    out.push_back(fs::read_symlink(at->path(), gone).string());
  }
  return out;
}

Killed kill_one(pid_t pid) {
  if (pid <= 1 || pid == ::getpid()) return Killed::kNo;
  return ::kill(pid, SIGKILL) == 0 ? Killed::kYes : Killed::kNo;
}

bool all_gone(const std::string& token, std::chrono::seconds within) {
  const auto deadline = std::chrono::steady_clock::now() + within;
  while (!guests_with(token).empty()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

void sweep(const std::string& token) {
  for (int round = 0; round < 100; ++round) {
    const auto left = guests_with(token);
    if (left.empty()) return;
    for (const pid_t pid : left) (void)kill_one(pid);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

bool starts_programs(const std::string& program, std::chrono::seconds within) {
  const auto deadline = std::chrono::steady_clock::now() + within;
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) {
    ::dup2(::open("/dev/null", O_RDWR), STDOUT_FILENO);
    ::execl(program.c_str(), program.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      (void)kill_one(child);
      ::waitpid(child, &status, 0);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Seen seen_from_namespace_root(pid_t pid, const std::string& path) {
  const std::string base = "/proc/" + std::to_string(pid) + "/ns/";
  const pid_t child = ::fork();
  if (child == 0) {
    const int mounts = ::open((base + "mnt").c_str(), O_RDONLY);
    // The user namespace that owns the mounts first: an ordinary user needs it to enter, and root to take a mount off
    // again. bwrap's guest is in another one further in.
    const int owner = ::ioctl(mounts, NS_GET_USERNS);
    if (mounts < 0 || ::setns(owner, CLONE_NEWUSER) != 0) ::_exit(2);
    // setns puts the caller at the root of the namespace, wherever the process itself was put by chroot. A copy of the
    // namespace, so that nothing happens to the cell.
    if (::setns(mounts, CLONE_NEWNS) != 0 || ::unshare(CLONE_NEWNS) != 0) ::_exit(2);
    constexpr int kLayers = 4;
    constexpr long kPidfdOpen = 434;
    const int self = static_cast<int>(::syscall(kPidfdOpen, ::getpid(), 0));
    for (int layer = 0; layer < kLayers; ++layer) {
      struct stat info{};
      if (::stat(path.c_str(), &info) == 0) ::_exit(0);
      // Entering once more leads to what lay below: until then "/" stays the layer that was taken off.
      if (::umount2("/", MNT_DETACH) != 0 || ::setns(self, CLONE_NEWNS) != 0) break;
    }
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) return Seen::kCannot;
  return WEXITSTATUS(status) == 0 ? Seen::kYes : Seen::kNo;
}

std::vector<std::string> cgroups_of(const std::string& run_id) {
  std::vector<std::string> out;
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator at("/sys/fs/cgroup", options, error), end; !error && at != end;
       at.increment(error)) {
    if (at.depth() > 4) at.disable_recursion_pending();
    if (at->is_directory(error) && at->path().string().ends_with(run_id)) out.push_back(at->path());
  }
  return out;
}

}  // namespace cloche::security
