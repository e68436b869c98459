// What a character does on a terminal: whether it may be sent there at all, and how many columns it takes.
#pragma once

#include <cstddef>

namespace cloche {

// A terminal acts upon it or a reader cannot see it: controls (line feed and tab among them), direction overrides,
// zero-width and tag characters, line and paragraph separators.
bool unsafe_to_show(char32_t code);

// Coarse on purpose: a column too many or too few moves a table cell, nothing else.
std::size_t columns_of(char32_t code);

}  // namespace cloche
