// Limits from what a run used, with head-room: the next run is never quite the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"
#include "report/report.h"

namespace cloche::learn {

struct Used {
  Usage usage;
  Bytes disk{0};
  std::uint64_t inodes = 0;
  std::uint64_t files = 0;  // the most that one process had open at once; 0: not measured
  // Memory is bounded as address space of each process, of which there is more than is ever in use: no measure of that.
  bool memory_by_process = false;
};

// The larger of each.
Used most(const Used& a, const Used& b);

// What was not measured stays as the base has it.
Limits limits_for(const Used& used, const Limits& base);
// Keys of the limits for which there is no measure here: without cgroups nobody counts processes, nor what they
// reserve, and old kernels do not tell how many files are open.
std::vector<std::string> unmeasured(const Used& used);
// The base's, but for those that the run went beyond.
Limits raised_limits(const Used& used, const Limits& base);

// What is learnt of limits: "limits.memory" and the like.
const std::vector<std::string_view>& learnt_limits();
// Those of them that the run failed of, as far as it is known: by its outcome, and by what it was denied.
std::vector<std::string> failed_limits(const Report& report);
// One of them alone.
void double_limit(Limits& limits, std::string_view key);
void copy_limit(Limits& to, const Limits& from, std::string_view key);
void take_larger(Limits& limits, const Limits& other, std::string_view key);
void take_smaller(Limits& limits, const Limits& other, std::string_view key);
bool is_same_limit(const Limits& one, const Limits& other, std::string_view key);

}  // namespace cloche::learn
