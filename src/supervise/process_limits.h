// ProcessLimits: whether the kernel is about to refuse a guest one more process, or more memory, by limits of single
// processes (RLIMIT_NPROC, RLIMIT_AS, RLIMIT_DATA). It tells nobody but the guest of that, so where no cgroup holds the
// limits a guest's filter tells of the calls, and the kernel's own sums are done here again. They decide nothing.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "plan/plan.h"

namespace cloche {

// A line of /proc/PID/maps.
struct Mapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool heap = false;  // made by brk
  bool operator==(const Mapping&) const = default;
};
// What is cut off at the end of the text is left out.
std::vector<Mapping> parse_maps(std::string_view text);

// What a call asks the kernel for.
struct Growth {
  std::uint64_t bytes = 0;
  bool data = false;     // private, and can be written: RLIMIT_DATA counts it, too
  std::uint64_t at = 0;  // 0: not in the place of something else, which would leave
  bool operator==(const Growth&) const = default;
};
Growth growth_of_mmap(std::uint64_t address, std::uint64_t length, std::uint64_t protection, std::uint64_t flags);
Growth growth_of_mremap(std::uint64_t old_length, std::uint64_t new_length);
Growth growth_of_brk(std::uint64_t address, const std::vector<Mapping>& mappings);
std::uint64_t overlap(const Growth& growth, const std::vector<Mapping>& mappings);

class ProcessLimits {
 public:
  explicit ProcessLimits(const Plan& plan);

  // Asked of every call that makes a task, by this process of the cell.
  bool refuses_task(pid_t pid);
  // How much the process would have then; 0: it gets it.
  std::uint64_t refuses_memory(pid_t pid, const Growth& growth) const;
  std::uint64_t refuses_heap(pid_t pid, std::uint64_t address) const;

 private:
  std::uint64_t tasks_ = 0;          // 0: not limited
  std::uint64_t address_space_ = 0;  // bytes; 0: not limited by the policy's own figure
  std::uint64_t data_ = 0;
  bool own_table_;
  std::uint64_t sure_ = 0;  // so many more cannot reach the limit
  Clock::duration spent_{};
};

}  // namespace cloche
