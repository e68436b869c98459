// Names as the most forgiving file system compares them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cloche::tree {

// Lower case, without code points that HFS+ and case-folding ext4 skip, without what NTFS cuts off at the end; the
// short name that NTFS gives .git is .git. Two names that some file system takes for one have one plain name, as far
// as names made of ASCII letters go.
std::string plain_name(std::string_view name);

// The plain names of a path's components.
std::vector<std::string> plain_components(std::string_view path);

}  // namespace cloche::tree
