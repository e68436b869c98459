// The shortest edit between two sequences of numbers: Myers' O(ND) search from both ends, which splits where the two
// searches meet and goes on in the halves, so that it needs memory for its diagonals alone.
//
// N times D is quadratic for texts that have little in common. The search is therefore bounded: after `effort` steps
// without a meeting it splits at the furthest point that either end has reached. Each such step looks at no more
// than 2 * effort diagonals and the split leaves at least `effort` lines behind, so that all of them together take a
// small multiple of effort * (lines of both sides) and 32 * effort bytes. The edit is then still an edit, only perhaps
// not the shortest one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cloche::diff {

struct Edit {
  std::vector<bool> removed;  // for each number of the old side
  std::vector<bool> added;    // for each number of the new side; what is left on both sides is the same sequence
};

// effort is at least 1.
Edit shortest_edit(std::span<const std::uint32_t> old_ids, std::span<const std::uint32_t> new_ids, std::int32_t effort);

}  // namespace cloche::diff
