// expect: could not convert|cannot convert|invalid initialization
#include "base/fd.h"

void own(cloche::Fd fd);

void caller(int number) {
#ifdef FIXED
  own(cloche::Fd(number));
#else
  own(number);
#endif
}
