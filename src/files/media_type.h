// What a file is, for people and programs that list it: a guess that nothing is decided by.
#pragma once

#include <string>
#include <string_view>

namespace cloche::files {

// By its first bytes; where they tell nothing, by its name; "text/plain" or "application/octet-stream" at last.
std::string media_type(std::string_view first_bytes, std::string_view name);

}  // namespace cloche::files
