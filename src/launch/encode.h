// A plan's steps as the bytes that init reads.
#pragma once

#include <cstdint>
#include <string>

#include "plan/plan.h"

namespace cloche {

struct EncodeOptions {
  unsigned tty_rows = 24;
  unsigned tty_cols = 80;
  unsigned stdio_count = 3;
  unsigned cgroup_count = 0;
  std::uint32_t host_uid = 0;  // for a step that leaves real root (tier 0)
};

std::string encode(const Plan& plan, const EncodeOptions& options);

}  // namespace cloche
