// Removes a directory and all that is below it, by descriptors, never through a symbolic link and never from another
// file system that is mounted in it. Shared by the engine and the janitor, so it uses the C library only.
//
// What lies in it was made by a guest: directories nested deeper than any stack, and modes that lock their owner out.
// So nothing recurses: a directory that is met one level down hands its own directories up to the top, where they are
// met again; each is moved once.
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cloche::wire {

namespace remove_detail {

inline bool is_dots(const char* name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

// A directory to work in or at, through no link and, from `parent` on, no mount.
inline int open_place(int parent, const char* name) {
  struct open_how how = {};
  how.flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
  return static_cast<int>(syscall(SYS_openat2, parent, name, &how, sizeof how));
}

// Opens a directory for reading, giving its owner the rights back if need be. The mode is changed through /proc, whose
// link leads to the very inode that was opened: a link put in its place is not followed.
inline int open_directory(int parent, const char* name) {
  int place = open_place(parent, name);
  if (place < 0) return -1;
  struct stat st;
  if (fstat(place, &st) == 0 && (st.st_mode & 0700) != 0700) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", place);
    (void)!chmod(path, 0700);
  }
  int dir = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int error = errno;
  close(place);
  errno = error;
  return dir;
}

struct NeverStop {
  bool operator()() const { return true; }
};

// 0 or an errno. EBUSY: something is mounted there, and not ours to look into.
inline int unlink_either(int folder, const char* name) {
  if (unlinkat(folder, name, 0) == 0) return 0;
  if (errno == EBUSY) return EBUSY;
  return unlinkat(folder, name, AT_REMOVEDIR) == 0 ? 0 : errno;
}

// The directory behind `fd`, for closedir(3), which closes that, too.
inline DIR* list_of(int fd) {
  DIR* list = fd < 0 ? nullptr : fdopendir(fd);
  if (list == nullptr && fd >= 0) {
    int error = errno;
    close(fd);
    errno = error;
  }
  return list;
}

// Empties the directory `name` of `top`: files go, directories move up to `top`. 0 or an errno.
template <typename GoOn>
inline int hand_up(int top, const char* name, unsigned long& serial, GoOn& go_on) {
  int fd = open_directory(top, name);
  DIR* list = list_of(fd);
  if (list == nullptr) return errno == EXDEV ? EBUSY : errno;
  int error = 0;
  while (struct dirent* entry = readdir(list)) {
    if (is_dots(entry->d_name)) continue;
    if (!go_on()) {
      error = ECANCELED;
      break;
    }
    int failed = unlink_either(fd, entry->d_name);
    if (failed == 0) continue;
    if (failed == EBUSY) {
      error = EBUSY;
      continue;
    }
    // Moving a directory writes its "..", which takes rights on itself.
    int inner = open_directory(fd, entry->d_name);
    if (inner >= 0) close(inner);
    char fresh[48];
    do {
      snprintf(fresh, sizeof fresh, ".cloche-removing-%lu", serial++);
    } while (faccessat(top, fresh, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    if (renameat(fd, entry->d_name, top, fresh) != 0) error = errno;
  }
  closedir(list);
  if (error == 0) error = unlink_either(top, name);
  return error;
}

}  // namespace remove_detail

// `name` in the directory `parent`. 0 or an errno; what is not there is no error. go_on() is asked at every entry;
// ECANCELED when it said no: the rest is there for the next time. EBUSY: all went but what something is mounted on.
template <typename GoOn = remove_detail::NeverStop>
inline int remove_tree_at(int parent, const char* name, GoOn go_on = {}) {
  if (int failed = remove_detail::unlink_either(parent, name); failed == 0 || failed == ENOENT || failed == EBUSY) {
    return failed == ENOENT ? 0 : failed;
  }
  int top = remove_detail::open_directory(parent, name);
  DIR* list = remove_detail::list_of(top);
  if (list == nullptr) return errno == EXDEV ? EBUSY : errno;
  unsigned long serial = 0;
  int error = 0;
  for (bool more = true; more && (error == 0 || error == EBUSY);) {
    more = false;
    rewinddir(list);
    while (struct dirent* entry = readdir(list)) {
      if (remove_detail::is_dots(entry->d_name)) continue;
      if (!go_on()) {
        error = ECANCELED;
        break;
      }
      int failed = remove_detail::unlink_either(top, entry->d_name);
      if (failed == 0) continue;
      const unsigned long moved = serial;
      if (failed != EBUSY) failed = remove_detail::hand_up(top, entry->d_name, serial, go_on);
      more = more || failed == 0 || failed == ENOENT || serial != moved;
      if (failed != 0 && failed != ENOENT) error = failed;
    }
  }
  closedir(list);
  if (error == 0 && unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT) error = errno;
  return error;
}

// The same by a path, whose last part alone is what is removed.
template <typename GoOn = remove_detail::NeverStop>
inline int remove_tree(const char* path, GoOn go_on = {}) {
  const char* slash = strrchr(path, '/');
  if (slash == nullptr) return remove_tree_at(AT_FDCWD, path, go_on);
  char folder[4096];
  auto length = static_cast<size_t>(slash - path);
  if (length >= sizeof folder) return ENAMETOOLONG;
  memcpy(folder, path, length);
  folder[length] = '\0';
  int parent = open(length == 0 ? "/" : folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (parent < 0) return errno == ENOENT ? 0 : errno;
  int error = remove_tree_at(parent, slash + 1, go_on);
  close(parent);
  return error;
}

}  // namespace cloche::wire
