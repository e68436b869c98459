// expect: could not convert|cannot convert
#include "base/result.h"

cloche::Result<int> parse() {
#ifdef FIXED
  return cloche::fail(cloche::ErrorCode::kInvalidInput, "parse", "not a number");
#else
  return cloche::Error{cloche::ErrorCode::kInvalidInput, "parse", 0, "not a number", ""};
#endif
}
