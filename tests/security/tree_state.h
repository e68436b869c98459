// All that can be seen of a directory of the host, as text that is compared before and after a run.
#pragma once

#include <string>

namespace cloche::security {

// One line for each thing: kind, mode, owner, inode, links, size, mtime, ctime (which nobody can set), attributes and
// content. Not the time of the last reading, which a look from outside changes.
std::string state_of(const std::string& directory);

// The first line that only one of them has; empty when they are the same.
std::string first_difference(const std::string& before, const std::string& after);

}  // namespace cloche::security
