// Removes the directory in which something was being copied out when the engine died (`--get`), and no other one: it
// lies where others may be able to write, so something else may stand at its path by now. Shared by the janitor, which
// the engine told of it, and collections, which read of it in the run's record; uses the C library only.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "wire/directory_id.h"
#include "wire/remove_tree.h"

namespace cloche::wire {

inline constexpr const char* kCopyName = "it";  // the only name that the engine makes in such a directory

namespace copy_detail {

// Its parent, on a way without links; the rest of `path` is its name.
inline int open_parent(const char* path, const char*& name) {
  const char* slash = strrchr(path, '/');
  if (path[0] != '/' || slash[1] == '\0') {
    errno = EINVAL;
    return -1;
  }
  char folder[4096];
  const auto length = static_cast<size_t>(slash - path);
  if (length >= sizeof folder) {
    errno = ENAMETOOLONG;
    return -1;
  }
  memcpy(folder, path, length);
  folder[length] = '\0';
  name = slash + 1;
  struct open_how how = {};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS;
  return static_cast<int>(syscall(SYS_openat2, AT_FDCWD, length == 0 ? "/" : folder, &how, sizeof how));
}

inline bool is_ours(int folder) {
  struct stat st;
  return fstat(folder, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 0077) == 0;
}

// Whether there is nothing, or something else than what was told of: then there is nothing to be done, later either.
inline bool is_nothing_of_ours(int error) {
  return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EXDEV || error == EINVAL;
}

template <typename GoOn>
inline int remove_in(int parent, const char* name, const DirectoryId* id, GoOn& go_on) {
  const int folder = remove_detail::open_place(parent, name);
  if (folder < 0) return is_nothing_of_ours(errno) ? 0 : errno;
  DirectoryId found;
  const bool ours = is_ours(folder) && (id == nullptr || (read_directory_id(folder, found) && is_same(found, *id)));
  // By its descriptor: whatever has its name by now, it is this one that is emptied.
  const int error = ours && id != nullptr ? remove_tree_at(folder, kCopyName, go_on) : 0;
  close(folder);
  if (!ours || error != 0) return error;
  // Only an empty one goes. Where somebody put another one there since the look at it, that was empty, too.
  if (unlinkat(parent, name, AT_REMOVEDIR) == 0) return 0;
  return errno == ENOTEMPTY || errno == EEXIST || is_nothing_of_ours(errno) ? 0 : errno;
}

}  // namespace copy_detail

// 0: it is gone, or what stands there is not ours to remove; else an errno (as remove_tree_at). Without an identity
// only an empty directory goes: nothing is put into one before its identity is told.
template <typename GoOn = remove_detail::NeverStop>
inline int remove_left_copy(const char* path, const DirectoryId* id, GoOn go_on = {}) {
  const char* name = nullptr;
  const int parent = copy_detail::open_parent(path, name);
  if (parent < 0) return copy_detail::is_nothing_of_ours(errno) ? 0 : errno;
  const int error = copy_detail::remove_in(parent, name, id, go_on);
  close(parent);
  return error;
}

}  // namespace cloche::wire
