// What of the host is mounted in a kind of cell, and whether it is still the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keeper/protocol.h"
#include "sys/mount_list.h"

namespace cloche::keeper {

// Host paths that the steps of a wish mount. Nothing if its spec is not one.
std::optional<std::vector<std::string>> sources_of(const Wish& wish);

// Which inodes the paths lead to now, as one number. A file that was replaced since is another one.
std::uint64_t identities_of(const std::vector<std::string>& paths);

// The paths, and behind them those that links among them lead to, as the kernel names them.
std::vector<std::string> real_paths(std::vector<std::string> paths);

// The mounts that these paths lie on, and those inside of them, as one number: what came or went elsewhere changes
// nothing. 0 where the kernel does not tell: then any mount may be one of them.
std::uint64_t mounts_around(const std::vector<std::string>& paths);
std::uint64_t mounts_around(const std::vector<std::string>& paths, const std::vector<sys::MountEntry>& mounts);

}  // namespace cloche::keeper
