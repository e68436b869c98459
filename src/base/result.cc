#include "base/result.h"

#include <cstring>

namespace cloche {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidInput:
      return "invalid-input";
    case ErrorCode::kRefused:
      return "refused";
    case ErrorCode::kNotFound:
      return "not-found";
    case ErrorCode::kSystem:
      return "system";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

std::string Error::text() const {
  std::string out;
  if (!step.empty()) out += step + ": ";
  out += message;
  if (errno_value != 0) {
    // strerrordesc_np is a table look-up: no locale, no static buffer, safe from any thread.
    const char* name = strerrordesc_np(errno_value);
    out += " (" + (name != nullptr ? std::string(name) : "errno " + std::to_string(errno_value)) + ")";
  }
  if (!hint.empty()) out += "; " + hint;
  return out;
}

}  // namespace cloche
