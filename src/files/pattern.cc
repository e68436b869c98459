#include "files/pattern.h"

#include <vector>

namespace cloche::files {
namespace {

// One name against one part of a pattern; two places to go back to would be one too many, so this is linear times the
// number of stars at worst.
bool name_matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> out;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (!part.empty()) out.push_back(part);
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  return out;
}

enum class Whole { kYes, kBeginning };

// Which prefixes of the pattern the path so far can have used up: a row of flags, so that "**/**/**" costs no more than
// its length.
bool walk(const std::vector<std::string_view>& pattern, const std::vector<std::string_view>& path, Whole whole) {
  std::vector<bool> at(pattern.size() + 1, false);
  at[0] = true;
  const auto skip_stars = [&] {
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      if (at[i] && pattern[i] == "**") at[i + 1] = true;
    }
  };
  skip_stars();
  for (const std::string_view name : path) {
    std::vector<bool> next(pattern.size() + 1, false);
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      if (!at[i]) continue;
      if (pattern[i] == "**") {
        next[i] = true;
      } else if (name_matches(pattern[i], name)) {
        next[i + 1] = true;
      }
    }
    at.swap(next);
    skip_stars();
  }
  if (whole == Whole::kYes) return at[pattern.size()];
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (at[i]) return true;
  }
  return false;
}

}  // namespace

bool matches(std::string_view pattern, std::string_view path) {
  return walk(parts_of(pattern), parts_of(path), Whole::kYes);
}

bool may_hold(std::string_view pattern, std::string_view directory) {
  return walk(parts_of(pattern), parts_of(directory), Whole::kBeginning);
}

}  // namespace cloche::files
