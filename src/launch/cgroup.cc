#include "launch/cgroup.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "sys/file.h"

namespace cloche {
namespace {

constexpr std::size_t kFileLimit = 1 << 20;

long magic_of(CgroupFacts::Version version) {
  return version == CgroupFacts::Version::kV2 ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC;
}

// The common parent may vanish under us when the last of the other runs removes it: make both, a few times over.
Status make_directories(const std::string& parent, const std::string& leaf) {
  int error = 0;
  for (int attempt = 0; attempt < 16; ++attempt) {
    if (::mkdir(parent.c_str(), 0755) != 0 && errno != EEXIST) {
      error = errno;
      break;
    }
    if (::mkdir(leaf.c_str(), 0755) == 0) return {};
    error = errno;
    if (error != ENOENT) break;
  }
  return fail_errno(error, "cgroup " + leaf, "could not be made", "'cloche doctor' shows what is writable here");
}

std::uint64_t number_in(const std::string& text) { return std::strtoull(text.c_str(), nullptr, 10); }

// "key value" lines, as in memory.events and cpu.stat.
std::uint64_t keyed(const std::string& text, std::string_view key) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line(text.data() + at, end - at);
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == ' ') {
      return number_in(std::string(line.substr(key.size() + 1)));
    }
    at = end + 1;
  }
  return 0;
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Children of a v2 parent have only the controllers that the parent passes on.
Status enable_v2(const std::string& parent) {
  if (::mkdir(parent.c_str(), 0755) != 0 && errno != EEXIST) {
    return fail_errno(errno, "cgroup " + parent, "could not be made");
  }
  for (const std::string& directory : {parent_of(parent), parent}) {
    const std::string file = directory + "/cgroup.subtree_control";
    auto enabled = sys::read_file(file, kFileLimit);
    for (const char* controller : {"pids", "memory", "cpu"}) {
      if (enabled && enabled->find(controller) != std::string::npos) continue;
      CLOCHE_TRY(sys::write_checked(file, std::string("+") + controller, CGROUP2_SUPER_MAGIC));
    }
  }
  return {};
}

Status move_self_aside(const std::string& parent) {
  const std::string leaf = parent_of(parent) + "/cloche-engine";
  if (::mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST) {
    return fail_errno(errno, "cgroup " + leaf, "could not be made");
  }
  return sys::write_checked(leaf + "/cgroup.procs", "0", CGROUP2_SUPER_MAGIC);
}

}  // namespace

CgroupLeaf::CgroupLeaf(CgroupLeaf&& other) noexcept { *this = std::move(other); }

CgroupLeaf& CgroupLeaf::operator=(CgroupLeaf&& other) noexcept {
  if (this != &other) {
    remove();
    version_ = other.version_;
    directories_ = std::exchange(other.directories_, {});
    janitor_ = other.janitor_;
  }
  return *this;
}

std::optional<std::string> CgroupLeaf::directory(Controller c) const {
  for (const auto& [controller, path] : directories_) {
    if (controller == c) return path;
  }
  if (version_ == CgroupFacts::Version::kV2 && !directories_.empty()) return directories_.front().second;
  return std::nullopt;
}

Result<CgroupLeaf> CgroupLeaf::make(const CgroupFacts& facts, const std::string& id,
                                    const std::vector<CgroupSetting>& settings, Janitor& janitor) {
  CgroupLeaf leaf;
  leaf.version_ = facts.version;
  leaf.janitor_ = &janitor;
  for (const CgroupSetting& setting : settings) {
    if (leaf.directory(setting.controller)) continue;
    const std::optional<std::string>& parent = facts.at(setting.controller);
    if (!parent) continue;
    if (facts.version == CgroupFacts::Version::kV2) {
      if (facts.v2_needs_self_move) CLOCHE_TRY(move_self_aside(*parent));
      CLOCHE_TRY(enable_v2(*parent));
    }
    const std::string path = *parent + "/" + id;
    CLOCHE_TRY(janitor.watch_cgroup(path));
    CLOCHE_TRY(make_directories(*parent, path));
    leaf.directories_.emplace_back(setting.controller, path);
  }
  for (const CgroupSetting& setting : settings) {
    if (setting.file.empty()) continue;
    std::optional<std::string> directory = leaf.directory(setting.controller);
    Status written = directory
                         ? sys::write_checked(*directory + "/" + setting.file, setting.value, magic_of(facts.version))
                         : fail(ErrorCode::kRefused, "cgroup", "no " + std::string(to_string(setting.controller)) +
                                                                   " controller is writable here");
    if (!written && setting.required) return std::unexpected(std::move(written).error());
  }
  return leaf;
}

Status CgroupLeaf::attach(pid_t pid) const {
  for (const auto& [controller, path] : directories_) {
    CLOCHE_TRY(sys::write_checked(path + "/cgroup.procs", std::to_string(pid), magic_of(version_)));
  }
  return {};
}

Result<std::string> CgroupLeaf::read(Controller c, const std::string& file) const {
  std::optional<std::string> path = directory(c);
  if (!path) return fail(ErrorCode::kNotFound, "cgroup", "this run has no " + std::string(to_string(c)) + " cgroup");
  CLOCHE_TRY_ASSIGN(std::string text, sys::read_file(*path + "/" + file, kFileLimit));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

CgroupUsage CgroupLeaf::usage() const {
  CgroupUsage out;
  if (version_ == CgroupFacts::Version::kV2) {
    if (auto text = read(Controller::kCpu, "cpu.stat")) out.cpu_us = keyed(*text, "usage_usec");
    if (auto text = read(Controller::kMemory, "memory.peak")) out.memory_peak = number_in(*text);
    if (auto text = read(Controller::kPids, "pids.peak")) out.pids_peak = number_in(*text);
    if (auto text = read(Controller::kPids, "pids.events")) out.forks_refused = keyed(*text, "max");
    if (auto text = read(Controller::kMemory, "memory.events")) out.oom_kills = keyed(*text, "oom_kill");
    return out;
  }
  if (auto text = read(Controller::kCpuAcct, "cpuacct.usage")) out.cpu_us = number_in(*text) / 1000;
  if (auto text = read(Controller::kMemory, "memory.max_usage_in_bytes")) out.memory_peak = number_in(*text);
  if (auto text = read(Controller::kPids, "pids.peak")) out.pids_peak = number_in(*text);
  if (auto text = read(Controller::kPids, "pids.events")) out.forks_refused = keyed(*text, "max");
  if (auto text = read(Controller::kMemory, "memory.oom_control")) out.oom_kills = keyed(*text, "oom_kill");
  return out;
}

bool CgroupLeaf::populated() const {
  for (const auto& [controller, path] : directories_) {
    auto text = sys::read_file(path + "/cgroup.procs", kFileLimit);
    if (text && !text->empty()) return true;
  }
  return false;
}

void CgroupLeaf::kill() const {
  if (directories_.empty()) return;
  const std::string& path = directories_.front().second;
  if (version_ == CgroupFacts::Version::kV2 && sys::write_file(path + "/cgroup.kill", "1")) return;
  // v1 has no such switch: kill until nobody is left. A process that is being killed cannot fork, so each round meets
  // fewer; the bound is for a kernel that cannot end a process (uninterruptible I/O).
  for (int round = 0; round < 64; ++round) {
    auto text = sys::read_file(path + "/cgroup.procs", kFileLimit);
    if (!text || text->empty()) return;
    for (std::size_t at = 0; at < text->size();) {
      std::size_t end = std::min(text->find('\n', at), text->size());
      auto pid = static_cast<pid_t>(number_in(text->substr(at, end - at)));
      if (pid > 1) ::kill(pid, SIGKILL);
      at = end + 1;
    }
  }
}

Result<Fd> CgroupLeaf::watch_oom() const {
  std::optional<std::string> path = directory(Controller::kMemory);
  if (version_ != CgroupFacts::Version::kV1 || !path) return Fd();
  CLOCHE_TRY_ASSIGN(Fd control, sys::open_file(*path + "/memory.oom_control", O_RDONLY));
  int event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event < 0) return fail_errno(errno, "eventfd", "could not watch the memory limit");
  Fd owner(event);
  CLOCHE_TRY(sys::write_file(*path + "/cgroup.event_control",
                             std::to_string(event) + " " + std::to_string(control.get())));
  return owner;
}

void CgroupLeaf::remove() {
  if (directories_.empty()) return;
  for (const auto& [controller, path] : directories_) {
    // The last task leaves the group a moment after it was reaped.
    for (int attempt = 0; attempt < 200 && ::rmdir(path.c_str()) != 0 && errno == EBUSY; ++attempt) {
      if (attempt > 2) kill();
      const timespec pause{0, 1'000'000};
      ::nanosleep(&pause, nullptr);
    }
    const std::string parent = parent_of(path);
    if (parent.ends_with("/cloche")) ::rmdir(parent.c_str());
    if (janitor_ != nullptr) janitor_->forget(path);
  }
  directories_.clear();
}

}  // namespace cloche
