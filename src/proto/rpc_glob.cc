#include "proto/rpc_glob.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/units.h"

namespace cloche::proto {

bool is_method_name(std::string_view name) {
  return !name.empty() && name.size() <= 256 &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
}

Status check_method_pattern(std::string_view pattern) {
  if (!is_method_name(pattern)) {
    return fail(ErrorCode::kInvalidInput, "sockets.rules",
                fmt::format("{} is no pattern for methods", shown_text(pattern)),
                "write 1 to 256 printable ASCII characters, such as \"flow.read\" or \"log.*\"");
  }
  if (pattern.find('*') < pattern.size() - 1) {
    return fail(ErrorCode::kInvalidInput, "sockets.rules",
                fmt::format("the pattern {} has a star that is not its last character", shown_text(pattern)),
                "list the methods one by one, or end the pattern with the star");
  }
  return {};
}

bool method_matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  pattern.remove_suffix(1);
  return name.size() > pattern.size() && name.starts_with(pattern);
}

}  // namespace cloche::proto
