// expect: use of deleted function
#include <utility>

#include "base/fd.h"

cloche::Fd take(cloche::Fd& fd) {
#ifdef FIXED
  return std::move(fd);
#else
  return fd;
#endif
}
