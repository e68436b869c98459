// What a character does on a terminal: whether it may be sent there at all, and how many columns it takes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cloche {

// A terminal acts upon it or a reader cannot see it: controls (line feed and tab among them), direction overrides,
// zero-width and tag characters, line and paragraph separators.
bool unsafe_to_show(char32_t code);

// "\u202e": how TOML spells it within quotes.
std::string toml_escape(char32_t code);
// A line of a policy for a terminal: what is unsafe to show becomes such an escape, and a backslash stays one, so that
// the line means the same where it is pasted.
std::string shown_policy_line(std::string_view line);

// Coarse on purpose: a column too many or too few moves a table cell, nothing else.
std::size_t columns_of(char32_t code);

}  // namespace cloche
