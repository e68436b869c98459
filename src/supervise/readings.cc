#include "supervise/readings.h"

#include <algorithm>

#include "base/octal.h"

namespace cloche {
namespace {

template <typename F>
void each_line(std::string_view text, F&& f) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    f(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// The next word, which leaves the text; empty when there is none.
std::string_view take_word(std::string_view& text, char separator) {
  text.remove_prefix(std::min(text.find_first_not_of(separator), text.size()));
  const std::string_view out = text.substr(0, text.find(separator));
  text.remove_prefix(out.size());
  return out;
}

std::vector<std::string_view> words(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (std::string_view word; !(word = take_word(text, separator)).empty();) out.push_back(word);
  return out;
}

bool has_word(std::string_view list, std::string_view word) {
  for (std::string_view w; !(w = take_word(list, ',')).empty();) {
    if (w == word) return true;
  }
  return false;
}

}  // namespace

std::map<std::string, std::string> parse_status(std::string_view text) {
  std::map<std::string, std::string> out;
  each_line(text, [&](std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && (value.front() == '\t' || value.front() == ' ')) value.remove_prefix(1);
    while (!value.empty() && value.back() == ' ') value.remove_suffix(1);
    out.emplace(line.substr(0, colon), value);
  });
  return out;
}

std::map<std::string, RlimitReading> parse_limits(std::string_view text) {
  // Columns are 26, 21 and 21 characters wide.
  constexpr std::size_t kName = 26;
  std::map<std::string, RlimitReading> out;
  each_line(text, [&](std::string_view line) {
    if (line.size() <= kName || !line.starts_with("Max ")) return;
    std::string_view name = line.substr(0, kName);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    std::string_view values = line.substr(kName);
    const std::string_view soft = take_word(values, ' '), hard = take_word(values, ' ');
    if (hard.empty()) return;
    out.emplace(name, RlimitReading{std::string(soft), std::string(hard)});
  });
  return out;
}

bool MountReading::has(std::string_view option) const {
  return has_word(options, option) || has_word(super_options, option);
}

std::vector<MountReading> parse_mountinfo(std::string_view text) {
  std::vector<MountReading> out;
  each_line(text, [&](std::string_view line) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) return;
    const auto left = words(line.substr(0, dash), ' ');
    const auto right = words(line.substr(dash + 3), ' ');
    if (left.size() < 6 || right.empty()) return;
    out.push_back({std::string(left[0]), std::string(left[1]), unescape_octal(left[3]), unescape_octal(left[4]),
                   std::string(left[5]), std::string(right[0]), std::string(right.size() > 2 ? right.back() : ""),
                   std::string(left[2])});
  });
  return out;
}

std::map<std::string, std::string> parse_cgroup(std::string_view text) {
  std::map<std::string, std::string> out;
  each_line(text, [&](std::string_view line) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) return;
    const std::string path(line.substr(second + 1));
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (controllers.empty()) out.emplace("", path);
    for (std::string_view controller : words(controllers, ',')) out.emplace(controller, path);
  });
  return out;
}

}  // namespace cloche
