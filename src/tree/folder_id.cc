#include "tree/folder_id.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace cloche::tree {

std::optional<FolderId> folder_id_now(int folder) {
  struct statx stx{};
  if (::statx(folder, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_INO | STATX_BTIME, &stx) != 0) return std::nullopt;
  FolderId id{stx.stx_ino, 0, 0};
  if ((stx.stx_mask & STATX_BTIME) != 0 && stx.stx_btime.tv_sec > 0) {
    id.born_seconds = static_cast<std::uint64_t>(stx.stx_btime.tv_sec);
    id.born_nanoseconds = stx.stx_btime.tv_nsec;
  }
  return id;
}

}  // namespace cloche::tree
