// CgroupLeaf owns the run's own cgroup: one directory under v2, one per controller under v1.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "launch/janitor.h"
#include "plan/plan.h"

namespace cloche {

struct CgroupUsage {
  std::optional<std::uint64_t> memory_peak;
  std::optional<std::uint64_t> pids_peak;
  std::uint64_t forks_refused = 0;
  std::uint64_t oom_kills = 0;
};

// Where the groups of a run are made on this host, each once.
std::vector<std::string> leaf_paths(const CgroupFacts& facts, const std::string& id);

class CgroupLeaf {
 public:
  CgroupLeaf() = default;
  CgroupLeaf(CgroupLeaf&&) noexcept;
  CgroupLeaf& operator=(CgroupLeaf&&) noexcept;
  CgroupLeaf(const CgroupLeaf&) = delete;
  CgroupLeaf& operator=(const CgroupLeaf&) = delete;
  ~CgroupLeaf() { remove(); }

  // Makes the directories and writes the settings; a required setting that does not hold is an error. The janitor
  // outlives the leaf.
  static Result<CgroupLeaf> make(const CgroupFacts& facts, const std::string& id,
                                 const std::vector<CgroupSetting>& settings, Janitor& janitor);

  // A keeper's leaf: used like one of our own, removed by the keeper.
  static CgroupLeaf borrow(CgroupFacts::Version version, std::vector<std::pair<Controller, std::string>> directories);
  // Writes limits into the leaf; one that is required and does not hold is an error.
  Status apply(const std::vector<CgroupSetting>& settings) const;

  bool empty() const { return directories_.empty(); }
  const std::vector<std::pair<Controller, std::string>>& directories() const { return directories_; }
  std::optional<std::string> directory(Controller c) const;
  // How a new process gets in: v2 by being born there, v1 by entering each group itself. The descriptors must stay
  // open until its first message.
  struct Doors {
    Fd v2;
    std::vector<Fd> v1_tasks;
  };
  Result<Doors> open_doors() const;
  // What the kernel says now in a file of the leaf.
  Result<std::string> read(Controller c, const std::string& file) const;
  CgroupUsage usage() const;
  std::optional<std::uint64_t> cpu_us() const;
  bool counts_cpu() const { return counters_[kCpu].valid() || cpu_us().has_value(); }
  // Ahead of time: reading what was used is then a call for each.
  void open_counters();
  enum Counter : std::uint8_t { kCpu, kMemoryPeak, kPidsPeak, kForks, kOom, kCounters };
  void kill() const;
  // Descriptor that becomes readable when the memory limit was hit (v1); invalid where the kernel kills the whole
  // group by itself.
  Result<Fd> watch_oom() const;
  void remove();
  // No longer ours to remove.
  void release() { directories_.clear(); }
  std::vector<std::string> paths() const;

 private:
  Fd open_counter(Counter counter) const;
  std::optional<std::string> count(Counter counter) const;

  CgroupFacts::Version version_ = CgroupFacts::Version::kNone;
  std::vector<std::pair<Controller, std::string>> directories_;
  Janitor* janitor_ = nullptr;
  bool borrowed_ = false;
  std::array<Fd, kCounters> counters_;
};

}  // namespace cloche
