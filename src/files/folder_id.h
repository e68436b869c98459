// By what a directory of the host is known again days later, when another one may stand at its path.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "tree/folder_id.h"

namespace cloche::files {

using tree::folder_id_now;
using tree::FolderId;

// Nothing where the file system's numbers do not last (overlayfs, FUSE, FAT), and where it cannot be asked.
std::optional<FolderId> folder_id(int folder);

// Magic numbers that <linux/magic.h> lacks.
inline constexpr std::uint64_t kZfsMagic = 0x2fc12fc1;
inline constexpr std::uint64_t kBcachefsMagic = 0xca451a4e;
// Whether it lies on a file system of one of these magic numbers.
bool lies_on(int fd, std::span<const std::uint64_t> magics);

}  // namespace cloche::files
