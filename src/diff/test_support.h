// Texts for the tests of this room: random ones, and random changes of them. Seeds are fixed.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "diff/hunks.h"

namespace cloche::diff::testing {

using Random = std::mt19937_64;

inline std::size_t below(Random& random, std::size_t n) { return static_cast<std::size_t>(random() % n); }

inline std::string join(const std::vector<std::string>& lines) {
  return std::accumulate(lines.begin(), lines.end(), std::string());
}

// Few different lines make many ways to pair them, which is where an algorithm can go wrong.
inline std::string random_line(Random& random, std::size_t different) {
  return "line " + std::to_string(below(random, different)) + "\n";
}

inline std::vector<std::string> random_lines(Random& random, std::size_t at_most, std::size_t different) {
  std::vector<std::string> lines(below(random, at_most + 1));
  for (std::string& line : lines) line = random_line(random, different);
  return lines;
}

inline void drop_last_feed_sometimes(Random& random, std::vector<std::string>& lines) {
  if (!lines.empty() && below(random, 4) == 0) lines.back().pop_back();
}

inline std::string random_text(Random& random, std::size_t at_most, std::size_t different) {
  std::vector<std::string> lines = random_lines(random, at_most, different);
  drop_last_feed_sometimes(random, lines);
  return join(lines);
}

// The lines of a text with a few removed, replaced and added.
inline std::string changed(Random& random, const std::string& text, std::size_t different) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t feed = std::min(text.find('\n', begin), text.size() - 1);
    lines.push_back(text.substr(begin, feed + 1 - begin));
    begin = feed + 1;
  }
  if (!lines.empty() && !lines.back().ends_with('\n')) lines.back() += '\n';
  for (std::size_t edits = below(random, 6); edits > 0; --edits) {
    const std::size_t at = below(random, lines.size() + 1);
    const auto place = lines.begin() + static_cast<std::ptrdiff_t>(at);
    if (at == lines.size() || below(random, 3) == 0) {
      lines.insert(place, random_line(random, different));
    } else if (below(random, 2) == 0) {
      lines.erase(place);
    } else {
      *place = random_line(random, different);
    }
  }
  drop_last_feed_sometimes(random, lines);
  return join(lines);
}

inline std::vector<std::size_t> all_of(const std::vector<Hunk>& hunks) {
  std::vector<std::size_t> indices(hunks.size());
  std::iota(indices.begin(), indices.end(), 0u);
  return indices;
}

}  // namespace cloche::diff::testing
