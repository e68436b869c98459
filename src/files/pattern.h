// Patterns of paths, as shells know them.
#pragma once

#include <string>
#include <string_view>

namespace cloche::files {

// "*" and "?" stay within a name, "**" as a whole name is any number of directories; everything else stands for itself.
// Both are absolute or both relative.
bool matches(std::string_view pattern, std::string_view path);

// Whether a directory of this path can hold, at any depth, something that matches.
bool may_hold(std::string_view pattern, std::string_view directory);

}  // namespace cloche::files
