// expect: cannot convert
#include "base/fd.h"

int number(const cloche::Fd& fd) {
#ifdef FIXED
  return fd.get();
#else
  return fd;
#endif
}
