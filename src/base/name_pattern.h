// Patterns of one name of a directory, as shells know them.
#pragma once

#include <cstddef>
#include <string_view>

namespace cloche {

// "*" is any part of a name, also none, but not the dot that hides it; everything else stands for itself. A pattern
// that matches another pattern as a text matches whatever that one matches.
constexpr bool name_matches(std::string_view pattern, std::string_view name) {
  if (name.starts_with('.') && !pattern.starts_with('.')) return false;
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;  // where the last one stood, and how much it took
  std::size_t taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace cloche
