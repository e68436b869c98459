#include "diff/changes.h"

#include <algorithm>
#include <cstdint>

#include "diff/myers.h"

namespace cloche::diff {
namespace {

// What is left of both sides without the lines that they begin and end with.
Change middle_of(const Lines& old_lines, const Lines& new_lines) {
  Change middle{{0, old_lines.size()}, {0, new_lines.size()}};
  std::size_t shared = std::min(middle.old_span.end, middle.new_span.end);
  while (shared > 0 && old_lines[middle.old_span.begin] == new_lines[middle.new_span.begin]) {
    ++middle.old_span.begin, ++middle.new_span.begin, --shared;
  }
  while (shared > 0 && old_lines[middle.old_span.end - 1] == new_lines[middle.new_span.end - 1]) {
    --middle.old_span.end, --middle.new_span.end, --shared;
  }
  return middle;
}

// The product of effort and lines is what bounds the time: some 2^28 steps, about a second. Texts of up to
// 32,000 lines together get the most, which finds the shortest edit unless more than 8000 of their lines changed.
std::int32_t effort_for(std::size_t lines) {
  constexpr std::size_t kProduct = 1u << 27;
  return static_cast<std::int32_t>(std::clamp<std::size_t>(kProduct / std::max<std::size_t>(lines, 1), 16, 4096));
}

// The lines that occur on both sides, and where they were.
struct Candidates {
  std::vector<std::uint32_t> ids;
  std::vector<std::uint32_t> places;
};

Candidates with_partner(const std::vector<std::uint32_t>& ids, const std::vector<std::uint8_t>& sides) {
  Candidates kept;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (sides[ids[i]] != (LineIds::kOld | LineIds::kNew)) continue;
    kept.ids.push_back(ids[i]);
    kept.places.push_back(static_cast<std::uint32_t>(i));
  }
  return kept;
}

std::vector<bool> spread(const Candidates& kept, const std::vector<bool>& changed, std::size_t size) {
  std::vector<bool> all(size, true);
  for (std::size_t i = 0; i < kept.places.size(); ++i) all[kept.places[i]] = changed[i];
  return all;
}

std::vector<Change> as_changes(const Edit& edit, const Change& middle) {
  std::vector<Change> changes;
  std::size_t x = 0;
  std::size_t y = 0;
  while (x < edit.removed.size() || y < edit.added.size()) {
    const std::size_t x_before = x;
    const std::size_t y_before = y;
    while (x < edit.removed.size() && edit.removed[x]) ++x;
    while (y < edit.added.size() && edit.added[y]) ++y;
    if (x != x_before || y != y_before) {
      changes.push_back({{middle.old_span.begin + x_before, middle.old_span.begin + x},
                         {middle.new_span.begin + y_before, middle.new_span.begin + y}});
    } else {
      ++x, ++y;
    }
  }
  return changes;
}

}  // namespace

std::vector<Change> find_changes(const Lines& old_lines, const Lines& new_lines) {
  const Change middle = middle_of(old_lines, new_lines);
  const std::size_t old_count = middle.old_span.size();
  const std::size_t new_count = middle.new_span.size();
  if (old_count == 0 && new_count == 0) return {};
  if (old_count == 0 || new_count == 0 || old_count + new_count > kMostLines) return {middle};

  const LineIds ids = number_lines(old_lines, middle.old_span, new_lines, middle.new_span);
  const Candidates old_kept = with_partner(ids.old_ids, ids.sides);
  const Candidates new_kept = with_partner(ids.new_ids, ids.sides);
  const Edit edit = shortest_edit(old_kept.ids, new_kept.ids, effort_for(old_kept.ids.size() + new_kept.ids.size()));
  return as_changes({spread(old_kept, edit.removed, old_count), spread(new_kept, edit.added, new_count)}, middle);
}

}  // namespace cloche::diff
