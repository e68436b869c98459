// Where two texts differ, as pairs of stretches of lines. Hunks and merges are both made of these.
//
// Bounded for texts that were made to be hard: what both begin and end with is set aside, lines without a partner on
// the other side are set aside, and the search for the rest stops looking for the shortest edit after an effort that
// falls as the texts grow (myers.h). Beyond kMostLines the answer is one change that replaces everything.
#pragma once

#include <cstddef>
#include <vector>

#include "diff/line_ids.h"
#include "diff/lines.h"

namespace cloche::diff {

inline constexpr std::size_t kMostLines = 1u << 24;  // of both sides, after what they begin and end with

// Either span may be empty, not both. Between two changes there is at least one line that both texts have.
struct Change {
  Span old_span;
  Span new_span;
  bool operator==(const Change&) const = default;
};

std::vector<Change> find_changes(const Lines& old_lines, const Lines& new_lines);

}  // namespace cloche::diff
