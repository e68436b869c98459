#include "learn/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace cloche::learn {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::size_t words_in(std::string_view line) {
  std::size_t count = 0;
  bool in_word = false;
  for (const char c : line) {
    const bool blank = c == ' ' || c == '\t';
    if (!blank && !in_word) ++count;
    in_word = !blank;
  }
  return count;
}

std::string shown_line(const std::string& line) {
  constexpr std::size_t kMost = 80;
  return shown_text(line.size() > kMost ? line.substr(0, kMost) + " ..." : line);
}

}  // namespace

std::optional<OutputDifference> output_difference(const std::string& before, const std::string& now) {
  if (before == now) return std::nullopt;
  const std::vector<std::string_view> old_lines = lines_of(before);
  const std::vector<std::string_view> new_lines = lines_of(now);
  const auto [old_at, new_at] = std::ranges::mismatch(old_lines, new_lines);
  OutputDifference out;
  out.line = static_cast<std::size_t>(old_at - old_lines.begin()) + 1;
  if (old_at != old_lines.end()) out.before = *old_at;
  if (new_at != new_lines.end()) out.now = *new_at;
  out.same_shape = std::ranges::equal(old_lines, new_lines, {}, words_in, words_in);
  return out;
}

std::string to_string(const OutputDifference& difference) {
  return fmt::format("line {} was {} and is {}", difference.line, shown_line(difference.before),
                     shown_line(difference.now));
}

}  // namespace cloche::learn
