// A plan's steps as the bytes that init reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace cloche {

struct EncodeOptions {
  unsigned tty_rows = 24;
  unsigned tty_cols = 80;
  unsigned cgroup_count = 0;
  std::uint32_t host_uid = 0;  // for a step that leaves real root (tier 0)
  bool leased = false;         // init's parent is a keeper
};

// The cell: every step, but nothing of what will run in it. Two runs that differ only in that have the same bytes.
std::string encode(const Plan& plan, const EncodeOptions& options);
// What runs: program, working directory, arguments, environment.
std::string encode_exec(const Plan& plan, const std::vector<std::string>& argv);

}  // namespace cloche
