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

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kBlank = " \t";
  std::vector<std::string_view> out;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
    if (line.empty()) return out;
    const std::size_t end = std::min(line.find_first_of(kBlank), line.size());
    out.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

bool has_digit(std::string_view word) { return word.find_first_of("0123456789") != std::string_view::npos; }

bool same_but_for_numbers(std::string_view before, std::string_view now) {
  if (before == now) return true;
  const std::vector<std::string_view> old_words = words_of(before);
  const std::vector<std::string_view> new_words = words_of(now);
  if (old_words.size() != new_words.size()) return false;
  for (std::size_t i = 0; i < old_words.size(); ++i) {
    if (old_words[i] != new_words[i] && has_digit(old_words[i]) && has_digit(new_words[i])) return true;
  }
  return old_words == new_words;  // the blanks between them are others, as of columns
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
  out.same_shape = std::ranges::equal(old_lines, new_lines, same_but_for_numbers);
  return out;
}

std::string to_string(const OutputDifference& difference) {
  return fmt::format("line {} was {} and is {}", difference.line, shown_line(difference.before),
                     shown_line(difference.now));
}

}  // namespace cloche::learn
