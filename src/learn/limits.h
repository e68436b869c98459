// Limits from what a run used, with head-room: the next run is never quite the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/policy.h"
#include "report/report.h"

namespace cloche::learn {

struct Used {
  Usage usage;
  Bytes disk{0};
  std::uint64_t inodes = 0;
  // Memory is bounded as address space of each process, of which there is more than is ever in use: no measure of that.
  bool memory_by_process = false;
};

// The larger of each.
Used most(const Used& a, const Used& b);

// What was not measured stays as the base has it.
Limits limits_for(const Used& used, const Limits& base);
// Keys of the limits for which there is no measure here: without cgroups nobody counts processes, nor what they
// reserve.
std::vector<std::string> unmeasured(const Used& used);
// The base's, but for those that the run went beyond.
Limits raised_limits(const Used& used, const Limits& base);

}  // namespace cloche::learn
