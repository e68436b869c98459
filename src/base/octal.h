// Escapes of /proc/*/mountinfo and its kin.
#pragma once

#include <string>
#include <string_view>

namespace cloche {

// "\040" is a blank, as the kernel writes blanks, tabs, line ends and backslashes in the names of mounts. What is no
// such escape stays as it is.
std::string unescape_octal(std::string_view field);

}  // namespace cloche
