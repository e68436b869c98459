#include "diff/lines.h"

#include <algorithm>

namespace cloche::diff {

Lines::Lines(std::string_view text) : text_(text) {
  ends_.reserve(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1);
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t feed = text.find('\n', begin);
    begin = feed == std::string_view::npos ? text.size() : feed + 1;
    ends_.push_back(begin);
  }
}

}  // namespace cloche::diff
