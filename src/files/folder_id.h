// By what a directory of the host is known again days later, when another one may stand at its path.
//
// Its number alone would not do: file systems give it to the next directory when one is removed. Together with the time
// of its birth, which nobody can set, it is one directory's own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace cloche::files {

struct FolderId {
  std::uint64_t inode = 0;
  std::uint64_t born_seconds = 0;  // both 0 where the file system does not tell
  std::uint64_t born_nanoseconds = 0;

  // A kernel that was updated may tell what the one before did not.
  bool is_same_as(const FolderId& other) const {
    const bool told = born_seconds != 0 && other.born_seconds != 0;
    return inode == other.inode &&
           (!told || (born_seconds == other.born_seconds && born_nanoseconds == other.born_nanoseconds));
  }
  bool operator==(const FolderId&) const = default;
};

// Nothing where the file system's numbers do not last (overlayfs, FUSE, FAT), and where it cannot be asked.
std::optional<FolderId> folder_id(int folder);

// Magic numbers that <linux/magic.h> lacks.
inline constexpr std::uint64_t kZfsMagic = 0x2fc12fc1;
inline constexpr std::uint64_t kBcachefsMagic = 0xca451a4e;
// Whether it lies on a file system of one of these magic numbers.
bool lies_on(int fd, std::span<const std::uint64_t> magics);

}  // namespace cloche::files
