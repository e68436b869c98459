// By what a directory is known again, when another one may stand at its path.
//
// Its number alone would not do: file systems give it to the next directory when one is removed. Together with the time
// of its birth, which nobody can set, it is one directory's own.
#pragma once

#include <cstdint>
#include <optional>

namespace cloche::tree {

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

// For those who ask again soon: there are file systems whose numbers do not last (files/folder_id.h). Nothing where it
// cannot be asked.
std::optional<FolderId> folder_id_now(int folder);

}  // namespace cloche::tree
