#include "files/folder_id.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>

namespace cloche::files {

bool lies_on(int fd, std::span<const std::uint64_t> magics) {
  struct statfs found{};
  return ::fstatfs(fd, &found) == 0 &&
         std::ranges::find(magics, static_cast<std::uint64_t>(found.f_type) & 0xffffffff) != magics.end();
}

std::optional<FolderId> folder_id(int folder) {
  constexpr auto kLasting =
      std::to_array<std::uint64_t>({EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC, F2FS_SUPER_MAGIC,
                                    NFS_SUPER_MAGIC, kZfsMagic, kBcachefsMagic});
  if (!lies_on(folder, kLasting)) return std::nullopt;
  return folder_id_now(folder);
}

}  // namespace cloche::files
