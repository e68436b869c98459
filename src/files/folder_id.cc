#include "files/folder_id.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
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
  struct statx stx{};
  if (::statx(folder, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_INO | STATX_BTIME, &stx) != 0) return std::nullopt;
  FolderId id{stx.stx_ino, 0, 0};
  if ((stx.stx_mask & STATX_BTIME) != 0 && stx.stx_btime.tv_sec > 0) {
    id.born_seconds = static_cast<std::uint64_t>(stx.stx_btime.tv_sec);
    id.born_nanoseconds = stx.stx_btime.tv_nsec;
  }
  return id;
}

}  // namespace cloche::files
