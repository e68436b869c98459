// What a guest holds in place of a secret: a text of the same shape that opens nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cloche::egress {

inline constexpr std::size_t kShortestSecret = 16;
inline constexpr std::size_t kLongestSecret = 8 * 1024;
// Letters and digits that a placeholder can differ in: with fewer it could be found where nobody put it.
inline constexpr std::size_t kFewestSigns = 12;

// Whether a value can be used at all. The sentence never holds any of it.
Status check_value(std::string_view name, std::string_view value);

// Of the value's length: each small letter, capital and digit by another of its kind, all else as it is. Never the
// value, and none of `taken`.
Result<std::string> make_placeholder(std::string_view name, std::string_view value,
                                     const std::vector<std::string>& taken);

}  // namespace cloche::egress
