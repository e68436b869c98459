#include "diff/content.h"

#include <algorithm>

namespace cloche::diff {

Content judge_content(std::string_view bytes, const ContentLimits& limits) {
  constexpr std::size_t kLookedAt = 8000;
  // Binary comes first: that a picture is large is not why it cannot be shown.
  if (bytes.substr(0, kLookedAt).find('\0') != std::string_view::npos) return Content::kBinary;
  if (bytes.size() > limits.bytes) return Content::kTooLarge;
  const auto feeds = static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\n'));
  const std::size_t lines = feeds + (bytes.empty() || bytes.ends_with('\n') ? 0 : 1);
  return lines > limits.lines ? Content::kTooLarge : Content::kText;
}

}  // namespace cloche::diff
