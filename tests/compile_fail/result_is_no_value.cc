// expect: cannot convert
#include "base/result.h"

cloche::Result<int> parse();

int caller() {
#ifdef FIXED
  const auto parsed = parse();
  return parsed ? *parsed : 0;
#else
  return parse();
#endif
}
