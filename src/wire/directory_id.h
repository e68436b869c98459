// By what a directory is known again, when another one may stand at its path.
#pragma once

#include <linux/stat.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cloche::wire {

// Its number alone would not do: file systems give it to the next one when one is
// removed. Nobody can set the time of its birth.
struct DirectoryId {
  uint64_t device;  // 0: not told; no kernel numbers one so
  uint64_t inode;
  uint64_t born_seconds;  // both 0 where the file system does not tell
  uint64_t born_nanoseconds;
};

inline bool read_directory_id(int folder, DirectoryId& out) {
  struct statx stx = {};
  constexpr int kFlags = 0x1000 | 0x800;  // AT_EMPTY_PATH, AT_NO_AUTOMOUNT: not every C library has them
  if (syscall(SYS_statx, folder, "", kFlags, STATX_INO | STATX_BTIME, &stx) != 0) return false;
  out = {(uint64_t{stx.stx_dev_major} << 32) | stx.stx_dev_minor, stx.stx_ino, 0, 0};
  if ((stx.stx_mask & STATX_BTIME) != 0 && stx.stx_btime.tv_sec > 0) {
    out.born_seconds = static_cast<uint64_t>(stx.stx_btime.tv_sec);
    out.born_nanoseconds = stx.stx_btime.tv_nsec;
  }
  return true;
}

// What one of them does not tell is no difference: a kernel that was updated may tell what the one before did not.
inline bool is_same(const DirectoryId& a, const DirectoryId& b) {
  const bool devices = a.device != 0 && b.device != 0;
  const bool births = a.born_seconds != 0 && b.born_seconds != 0;
  return a.inode == b.inode && (!devices || a.device == b.device) &&
         (!births || (a.born_seconds == b.born_seconds && a.born_nanoseconds == b.born_nanoseconds));
}

}  // namespace cloche::wire
