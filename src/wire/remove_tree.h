// Removes a directory and all that is below it, by descriptors and never through a symbolic link. Shared by the engine
// and the janitor, so it uses the C library only.
//
// What lies in it was made by a guest: directories nested deeper than any stack, and modes that lock their owner out.
// So nothing recurses: a directory that is met one level down hands its own directories up to the top, where they are
// met again; each is moved once.
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cloche::wire {

namespace remove_detail {

inline bool is_dots(const char* name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

// Opens a directory for reading, giving its owner the rights back if need be. The mode is changed through /proc, whose
// link leads to the very inode that was opened: a link put in its place is not followed.
inline int open_directory(int parent, const char* name) {
  int place = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
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

// Empties the directory `name` of `top`: files go, directories move up to `top`. 0 or an errno.
template <typename GoOn>
inline int hand_up(int top, const char* name, unsigned long& serial, GoOn& go_on) {
  int fd = open_directory(top, name);
  if (fd < 0) return errno;
  DIR* list = fdopendir(fd);
  if (list == nullptr) {
    int error = errno;
    close(fd);
    return error;
  }
  int error = 0;
  while (struct dirent* entry = readdir(list)) {
    if (is_dots(entry->d_name)) continue;
    if (!go_on()) {
      error = ECANCELED;
      break;
    }
    if (unlinkat(fd, entry->d_name, 0) == 0 || unlinkat(fd, entry->d_name, AT_REMOVEDIR) == 0) continue;
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
  if (error == 0 && unlinkat(top, name, AT_REMOVEDIR) != 0) error = errno;
  return error;
}

}  // namespace remove_detail

// 0 or an errno; a missing path is no error. go_on() is asked at every entry; ECANCELED when it said no: the rest is
// there for the next time.
template <typename GoOn = remove_detail::NeverStop>
inline int remove_tree(const char* path, GoOn go_on = {}) {
  if (unlinkat(AT_FDCWD, path, 0) == 0 || errno == ENOENT) return 0;
  int top = remove_detail::open_directory(AT_FDCWD, path);
  if (top < 0) return errno;
  DIR* list = fdopendir(top);
  if (list == nullptr) {
    int error = errno;
    close(top);
    return error;
  }
  unsigned long serial = 0;
  int error = 0;
  for (bool more = true; more && error == 0;) {
    more = false;
    rewinddir(list);
    while (struct dirent* entry = readdir(list)) {
      if (remove_detail::is_dots(entry->d_name)) continue;
      if (!go_on()) {
        error = ECANCELED;
        break;
      }
      if (unlinkat(top, entry->d_name, 0) == 0 || unlinkat(top, entry->d_name, AT_REMOVEDIR) == 0) continue;
      more = true;
      if (int failed = remove_detail::hand_up(top, entry->d_name, serial, go_on); failed != 0 && failed != ENOENT)
        error = failed;
    }
  }
  closedir(list);
  if (error == 0 && unlinkat(AT_FDCWD, path, AT_REMOVEDIR) != 0 && errno != ENOENT) error = errno;
  return error;
}

}  // namespace cloche::wire
