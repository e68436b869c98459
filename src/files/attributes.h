// Extended attributes of what a guest left, as far as they are its own doing.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cloche::files {

// Whether it has attributes or an access list that would be lost: such as a guest can set, and the host's regular file
// `name` in `host_folder` has not in the same way. Both views give a guest's file those of the host's, which stay
// when it is replaced. `host_folder` may be -1.
bool has_new_attributes(int guest, int host_folder, const std::string& name);

// The attributes of users, without overlay's own. Nothing where there are more than a proposal holds.
std::optional<std::vector<std::pair<std::string, std::string>>> user_attributes(int fd);

}  // namespace cloche::files
