// How much changed: counts of lines, and the bars that show them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "diff/hunks.h"
#include "diff/unified.h"

namespace cloche::diff {

struct Stat {
  std::size_t added = 0;
  std::size_t removed = 0;
  bool operator==(const Stat&) const = default;
};

Stat count_lines(std::span<const Hunk> hunks);

struct FileStat {
  std::string path;
  std::optional<Stat> stat;  // nothing: not text, so that there is nothing to count
};

struct StatOptions {
  std::size_t columns = 80;
  Paint paint;
};

// One line for each file, " path | 12 ++++----", and one with the sums. The longest bar fills the columns that paths
// and counts leave, or is as long as its count; a side that changed at all has a sign. Paths are quoted and, where they
// leave no room, cut at their beginning. Safe for a terminal.
std::string stat_text(std::span<const FileStat> files, const StatOptions& options = {});

}  // namespace cloche::diff
