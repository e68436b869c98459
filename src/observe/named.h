// What a guest that failed names, in its command and in what it said of its failure: a program that only looks at names
// (`stat`) is not watched by default, but nearly always says of which one it could not do its work.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "observe/sighting.h"

namespace cloche::observe {

inline constexpr std::size_t kMostNamed = 16;

// Absolute paths, as if they had been read; never seen to be, so their count is 0. The most telling one comes last, as
// with what was seen: what a program says at its end is about its end, and its command comes before that.
std::vector<Sighting> named_paths(const std::vector<std::string>& argv, std::string_view errors);

}  // namespace cloche::observe
