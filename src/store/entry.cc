#include "store/entry.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace cloche::store {

Fd open_entry(int runs, const std::string& name) {
  return Fd(::openat(runs, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool still_named(int runs, const std::string& name, int directory) {
  struct stat ours{};
  struct stat named{};
  return ::fstat(directory, &ours) == 0 && ::fstatat(runs, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

}  // namespace cloche::store
