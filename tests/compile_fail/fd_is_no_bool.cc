// expect: could not convert|cannot convert
#include "base/fd.h"

int open_ones(const cloche::Fd& fd) {
#ifdef FIXED
  if (fd.valid()) return 1;
#else
  if (fd) return 1;
#endif
  return 0;
}
