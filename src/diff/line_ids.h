// One number for each different line, so that comparing two lines is comparing two integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "diff/lines.h"

namespace cloche::diff {

// Some consecutive lines of a text.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t size() const { return end - begin; }
  bool operator==(const Span&) const = default;
};

struct LineIds {
  std::vector<std::uint32_t> old_ids;  // of the lines of old_span, in order
  std::vector<std::uint32_t> new_ids;
  // For each id, on which sides it occurs: a line of one side alone has no partner, whatever the algorithm.
  std::vector<std::uint8_t> sides;
  static constexpr std::uint8_t kOld = 1;
  static constexpr std::uint8_t kNew = 2;
};

using LineHash = std::size_t (*)(std::string_view);
std::size_t hash_line(std::string_view line);

// Sorts instead of hashing into a table: a guest that knows the hash function can make all its lines collide, and a
// table would then take quadratic time. Both spans together hold fewer than 2^32 lines.
LineIds number_lines(const Lines& old_lines, Span old_span, const Lines& new_lines, Span new_span,
                     LineHash hash = hash_line);

}  // namespace cloche::diff
