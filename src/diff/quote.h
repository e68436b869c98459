// Names and lines that a guest chose, written so that neither git nor a terminal takes them for something else.
#pragma once

#include <string>
#include <string_view>

namespace cloche::diff {

// A path as git writes it in a patch: as it is, or in double quotes with C escapes when it holds a control character,
// a quote, a backslash, bytes that are not UTF-8 or a character that must not reach a terminal. Other characters beyond
// ASCII stay, as with core.quotePath off; git and GNU patch read both forms.
std::string quote_path(std::string_view path);

// A line for a terminal, without its line feed: what a terminal acts upon or a reader cannot see becomes \x1b or
// \u{202e}, tabs stay. A backslash is doubled only where it would read as the beginning of such an escape, so that two
// different lines never look alike and most sources look as they are.
std::string harmless_line(std::string_view line);

}  // namespace cloche::diff
