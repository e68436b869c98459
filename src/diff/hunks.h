// The difference of two texts as hunks: changed lines with some unchanged ones around them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cloche::diff {

enum class LineKind : std::uint8_t { kContext, kRemoved, kAdded };

struct Line {
  LineKind kind = LineKind::kContext;
  std::string_view text;  // with its line feed; a last line may lack it
  bool operator==(const Line&) const = default;
};

// Counted as a unified diff counts: from 1, and of no line at all the number of the line before.
struct Hunk {
  std::size_t old_start = 0;
  std::size_t old_count = 0;
  std::size_t new_start = 0;
  std::size_t new_count = 0;
  std::vector<Line> lines;
  bool operator==(const Hunk&) const = default;
};

inline constexpr std::size_t kContextLines = 3;

// The lines of the hunks are views of the two texts, which must outlive them. Hunks whose context would touch are one.
// Equal texts have no hunk. Bounded in time and memory for any texts (changes.h).
std::vector<Hunk> diff_lines(std::string_view old_text, std::string_view new_text, std::size_t context = kContextLines);

// The old text with the chosen hunks applied: indices into hunks, in any order; one named twice counts once. All of
// them give the new text, none the old one. Fails when an index is out of range, or when the hunks were not made of
// this text.
Result<std::string> apply_hunks(std::string_view old_text, std::span<const Hunk> hunks,
                                std::span<const std::size_t> chosen);

}  // namespace cloche::diff
