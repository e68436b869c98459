// A line as a shell would split it into words, for commands that are never given to a shell.
#pragma once

#include <string_view>

#include "base/result.h"
#include "prove/attack.h"

namespace cloche::prove {

// Blanks separate; '…' is verbatim, "…" knows \" and \\, a backslash elsewhere takes the next character as it is. What
// a shell would do beyond that (variables, patterns, pipes, substitutions) is refused outside of quotes, because the
// command would not mean what it says.
Result<Words> split_words(std::string_view line);

}  // namespace cloche::prove
