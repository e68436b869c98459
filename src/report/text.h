// Text for a terminal. A guest chooses its arguments, its output and parts of error messages; a terminal obeys what it
// is sent (move the cursor, retitle the window, answer a query as if typed). Everything of a guest's goes through
// printable() before it is shown; the other functions here take text that already did.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace cloche {

// One line without any control: C0, DEL, C1, direction and invisible characters and bytes that are not UTF-8 become
// \n, \x1b, \u{9b}; a backslash is doubled, so that two different texts never look alike.
std::string printable(std::string_view text);

// printable(), and in quotes unless it is a plain word: what stands behind it cannot be part of it.
std::string printable_word(std::string_view text);

// The beginning and the end of a text that would take more columns than this once it is printable, with "…" between
// them: of a path both tell. It is cut before it is escaped, so in no character and no escape.
std::string shortened(std::string_view text, std::size_t columns);

// printable() of an argument vector, quoted where a shell would need it.
std::string printable_command(const std::vector<std::string>& argv);

std::size_t display_width(std::string_view text);             // terminal columns
std::string fit(std::string_view text, std::size_t columns);  // cut with "…" where it is too long
std::string pad(std::string_view text, std::size_t columns);  // with spaces; never cuts
std::vector<std::string> wrap(std::string_view text, std::size_t columns, std::size_t max_lines);

std::string human(Bytes bytes);  // "120 bytes", "12.3M"
// Floating, because a report that was read from a file may hold any number, and a conversion must not overflow.
using Seconds = std::chrono::duration<double>;
std::string human(Seconds value);  // "250us", "34ms", "1.2s", "12m 5s"

}  // namespace cloche
