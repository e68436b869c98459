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

}  // namespace cloche::keeper
