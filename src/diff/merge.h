// Three-way merge by lines: what ours and theirs each made of a base, together.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cloche::diff {

struct MergeLabels {
  std::string ours = "ours";
  std::string theirs = "theirs";
};

struct Merge {
  std::string text;           // with <<<<<<<, ======= and >>>>>>> around what does not go together
  std::size_t conflicts = 0;  // the truth about conflicts: lines that look like markers may be part of the texts
  bool operator==(const Merge&) const = default;
};

// Changes conflict as they do for git: when they touch or overlap and are not the same. What both halves of a conflict
// begin and end with stands outside of the markers. The half of a conflict that lacks its last line feed gets one, so
// that a marker begins its line.
Merge merge_lines(std::string_view base, std::string_view ours, std::string_view theirs,
                  const MergeLabels& labels = {});

}  // namespace cloche::diff
