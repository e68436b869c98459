// Canaries: the files that were planted, and whether somebody touched them.
#pragma once

#include <map>
#include <string>

namespace cloche::prove {

// Path below the directory, and all that is to be compared: kind, mode, and of files size, times and content.
using Canaries = std::map<std::string, std::string>;

// Of this directory and everything below; no link is followed. What cannot be read is told as that.
Canaries look_at(const std::string& directory);

// The first difference in words, "home/.bashrc has changed"; empty: none.
std::string difference(const Canaries& before, const Canaries& after);

}  // namespace cloche::prove
