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

// The facts name either a directory that was delegated to us, or "…/cloche" in a directory that we share with others:
// there the leaf is a sibling, "…/cloche-ID", so that no common parent has to be made and removed around every run.
std::string leaf_path(const std::string& place, const std::string& id) {
  return place.ends_with("/cloche") ? place + "-" + id : place + "/" + id;
}

bool has_word(const std::string& text, std::string_view word) {
  constexpr std::string_view kBlank = " \n";
  for (std::size_t at = 0; (at = text.find_first_not_of(kBlank, at)) != std::string::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlank, at), text.size());
    if (std::string_view(text).substr(at, end - at) == word) return true;
    at = end;
  }
  return false;
}

// A v2 leaf has only the controllers that its parent passes on.
Status enable_v2(const std::string& parent, const std::vector<CgroupSetting>& settings) {
  const std::string file = parent + "/cgroup.subtree_control";
  for (const CgroupSetting& setting : settings) {
    const std::string name(to_string(setting.controller));
    auto enabled = sys::read_file(file, kFileLimit);
    if (enabled && has_word(*enabled, name)) continue;
    Status written = sys::write_checked(file, "+" + name, CGROUP2_SUPER_MAGIC);
    if (!written && setting.required) return written;
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

std::vector<std::string> leaf_paths(const CgroupFacts& facts, const std::string& id) {
  std::vector<std::string> out;
  for (const std::optional<std::string>& parent : facts.parent) {
    if (!parent) continue;
    std::string path = leaf_path(*parent, id);
    if (std::ranges::find(out, path) == out.end()) out.push_back(std::move(path));
  }
  return out;
}

CgroupLeaf::CgroupLeaf(CgroupLeaf&& other) noexcept { *this = std::move(other); }

CgroupLeaf& CgroupLeaf::operator=(CgroupLeaf&& other) noexcept {
  if (this != &other) {
    remove();
    version_ = other.version_;
    directories_ = std::exchange(other.directories_, {});
    borrowed_ = other.borrowed_;
    counters_ = std::move(other.counters_);
    janitor_ = other.janitor_;
  }
  return *this;
}

std::vector<std::string> CgroupLeaf::paths() const {
  std::vector<std::string> out;
  for (const auto& [controller, path] : directories_) out.push_back(path);
  return out;
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
    const std::string path = leaf_path(*parent, id);
    if (facts.version == CgroupFacts::Version::kV2) {
      if (facts.v2_needs_self_move) CLOCHE_TRY(move_self_aside(*parent));
      CLOCHE_TRY(enable_v2(parent_of(path), settings));
    }
    leaf.directories_.emplace_back(setting.controller, path);
  }
  // Before they are made, so that there is no moment in which nobody knows of them.
  if (!leaf.directories_.empty()) CLOCHE_TRY(janitor.watch(Janitor::Kind::kCgroup, leaf.paths()));
  for (std::size_t made = 0; made < leaf.directories_.size(); ++made) {
    const std::string path = leaf.directories_[made].second;
    if (::mkdir(path.c_str(), 0755) == 0) continue;
    const int error = errno;
    // What we did not make is not ours to remove, neither now nor by the janitor.
    const std::vector<std::string> all = leaf.paths();
    leaf.janitor_->forget({all.begin() + static_cast<std::ptrdiff_t>(made), all.end()});
    leaf.directories_.resize(made);
    return fail_errno(error, "cgroup " + path, "could not be made", "'cloche doctor' shows what is writable here");
  }
  CLOCHE_TRY(leaf.apply(settings));
  return leaf;
}

CgroupLeaf CgroupLeaf::borrow(CgroupFacts::Version version,
                              std::vector<std::pair<Controller, std::string>> directories) {
  CgroupLeaf leaf;
  leaf.version_ = version;
  leaf.directories_ = std::move(directories);
  leaf.borrowed_ = true;
  return leaf;
}

Status CgroupLeaf::apply(const std::vector<CgroupSetting>& settings) const {
  for (const CgroupSetting& setting : settings) {
    if (setting.file.empty()) continue;
    std::optional<std::string> place = directory(setting.controller);
    Status written = place ? sys::write_checked(*place + "/" + setting.file, setting.value, magic_of(version_))
                           : fail(ErrorCode::kRefused, "cgroup",
                                  "no " + std::string(to_string(setting.controller)) + " controller is writable here");
    if (!written && setting.required) return written;
  }
  return {};
}

Result<CgroupLeaf::Doors> CgroupLeaf::open_doors() const {
  Doors doors;
  for (const auto& [controller, path] : directories_) {
    if (version_ == CgroupFacts::Version::kV2) {
      CLOCHE_TRY_ASSIGN(doors.v2, sys::open_file(path, O_RDONLY | O_DIRECTORY));
    } else {
      CLOCHE_TRY_ASSIGN(Fd tasks, sys::open_checked(path + "/tasks", magic_of(version_)));
      doors.v1_tasks.push_back(std::move(tasks));
    }
  }
  return doors;
}

Result<std::string> CgroupLeaf::read(Controller c, const std::string& file) const {
  std::optional<std::string> path = directory(c);
  if (!path) return fail(ErrorCode::kNotFound, "cgroup", "this run has no " + std::string(to_string(c)) + " cgroup");
  CLOCHE_TRY_ASSIGN(std::string text, sys::read_file(*path + "/" + file, kFileLimit));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

namespace {

struct CounterFile {
  Controller controller;
  const char* file;
};
using Counters = std::array<CounterFile, CgroupLeaf::kCounters>;  // in the order of CgroupLeaf::Counter
constexpr Counters kCountersV1 = {{{Controller::kCpuAcct, "cpuacct.usage"},
                                   {Controller::kMemory, "memory.max_usage_in_bytes"},
                                   {Controller::kPids, "pids.peak"},
                                   {Controller::kPids, "pids.events"},
                                   {Controller::kMemory, "memory.oom_control"}}};
constexpr Counters kCountersV2 = {{{Controller::kCpu, "cpu.stat"},
                                   {Controller::kMemory, "memory.peak"},
                                   {Controller::kPids, "pids.peak"},
                                   {Controller::kPids, "pids.events"},
                                   {Controller::kMemory, "memory.events"}}};

}  // namespace

Fd CgroupLeaf::open_counter(Counter counter) const {
  const CounterFile& place = (version_ == CgroupFacts::Version::kV2 ? kCountersV2 : kCountersV1)[counter];
  const std::optional<std::string> path = directory(place.controller);
  auto fd = path ? sys::open_file(*path + "/" + place.file, O_RDONLY) : Result<Fd>(Fd());
  return fd ? std::move(*fd) : Fd();
}

void CgroupLeaf::open_counters() {
  for (unsigned i = 0; i < kCounters; ++i) counters_[i] = open_counter(static_cast<Counter>(i));
}

std::optional<std::string> CgroupLeaf::count(Counter counter) const {
  const Fd* kept = &counters_[counter];
  Fd opened;
  if (!kept->valid()) {
    opened = open_counter(counter);
    kept = &opened;
  }
  char text[4096];  // none of them is longer
  const ssize_t n = kept->valid() ? ::pread(kept->get(), text, sizeof text, 0) : -1;
  if (n < 0) return std::nullopt;
  return std::string(text, static_cast<std::size_t>(n));
}

std::optional<std::uint64_t> CgroupLeaf::cpu_us() const {
  const auto text = count(kCpu);
  if (!text) return std::nullopt;
  return version_ == CgroupFacts::Version::kV2 ? keyed(*text, "usage_usec") : number_in(*text) / 1000;
}

CgroupUsage CgroupLeaf::usage() const {
  CgroupUsage out;
  if (auto text = count(kMemoryPeak)) out.memory_peak = number_in(*text);
  if (auto text = count(kPidsPeak)) out.pids_peak = number_in(*text);
  if (auto text = count(kForks)) out.forks_refused = keyed(*text, "max");
  if (auto text = count(kOom)) out.oom_kills = keyed(*text, "oom_kill");
  return out;
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
  CLOCHE_TRY(
      sys::write_file(*path + "/cgroup.event_control", std::to_string(event) + " " + std::to_string(control.get())));
  return owner;
}

void CgroupLeaf::remove() {
  if (directories_.empty()) return;
  if (!borrowed_) {
    std::erase_if(directories_, [this](const auto& entry) {
      // The last task leaves the group a moment after it was reaped.
      constexpr int kAttempts = 40;
      for (int attempt = 0; attempt < kAttempts; ++attempt) {
        if (::rmdir(entry.second.c_str()) == 0 || errno != EBUSY) {
          if (janitor_ != nullptr) janitor_->forget({entry.second});
          return true;
        }
        const timespec pause{0, 50'000};
        ::nanosleep(&pause, nullptr);
      }
      return false;
    });
    // Somebody is still in there: killed, and waited for, by the janitor, so that no other run waits here.
    if (!directories_.empty() && (janitor_ == nullptr || !janitor_->hand_over(paths()))) kill();
  }
  directories_.clear();
}

}  // namespace cloche
