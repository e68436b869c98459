// What of the host is mounted in a kind of cell, and whether it is still the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keeper/protocol.h"

namespace cloche::keeper {

// Host paths that the steps of a wish mount. Nothing if its spec is not one.
std::optional<std::vector<std::string>> sources_of(const Wish& wish);

// Which inodes the paths lead to now, as one number. A file that was replaced since is another one.
std::uint64_t identities_of(const std::vector<std::string>& paths);

// The mounts that these paths lie on, and those inside of them, as one number: what came or went elsewhere changes
// nothing. Nothing if the kernel does not tell.
std::optional<std::uint64_t> mounts_around(const std::vector<std::string>& paths);
// The same for a text of /proc/PID/mountinfo.
std::uint64_t mounts_around(const std::vector<std::string>& paths, std::string_view mountinfo);

}  // namespace cloche::keeper
