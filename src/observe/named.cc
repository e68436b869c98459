#include "observe/named.h"

#include <limits.h>

#include <algorithm>
#include <ranges>

namespace cloche::observe {
namespace {

// Of the end of what a guest said, and of each word of its command.
constexpr std::size_t kMostText = 4096;

// A quotation mark as C libraries write it where they can: U+2000 to U+203F, all three bytes of it. Two of them and
// something else are no mark, or a slash behind them would end the name that it begins.
bool is_in_mark(std::string_view text, std::size_t at) {
  constexpr std::size_t kSize = 3;
  for (std::size_t back = 0; back < kSize && back <= at; ++back) {
    const std::string_view mark = text.substr(at - back, kSize);
    if (mark.size() != kSize || !mark.starts_with("\xe2\x80")) continue;
    if ((static_cast<unsigned char>(mark.back()) & 0xc0) == 0x80) return true;
  }
  return false;
}

// What surrounds a name in a message or a command. Names with blanks are cut at them, and found to be nothing.
bool ends_name(std::string_view text, std::size_t at) {
  constexpr std::string_view kAround = "\"'`()[]{}<>|;&=,*?$\\\x7f";
  const auto byte = static_cast<unsigned char>(text[at]);
  return byte <= ' ' || kAround.find(text[at]) != std::string_view::npos || is_in_mark(text, at);
}

// Beginning with '/', where a name can begin; "a/b" and "http://x" are none.
void add_names(std::string_view text, std::vector<std::string>& out) {
  std::size_t at = 0;
  while ((at = text.find('/', at)) != std::string_view::npos) {
    const bool begins = at == 0 || ends_name(text, at - 1) || (text[at - 1] == ':' && text.substr(at, 2) != "//");
    std::size_t end = at + 1;  // whatever it is, the next look is further on
    while (end < text.size() && !ends_name(text, end)) ++end;
    if (begins) {
      // "…: /home/me/x: No such file", "/home/me/x.py:3", "the end of /home/me/x."
      std::string_view name = text.substr(at, std::min(text.substr(0, end).find(':', at), end) - at);
      while (name.ends_with('.')) name.remove_suffix(1);
      if (name.size() > 1 && name.size() < PATH_MAX) out.emplace_back(name);
    }
    at = end;
  }
}

}  // namespace

std::vector<Sighting> named_paths(const std::vector<std::string>& argv, std::string_view errors) {
  std::vector<std::string> names;
  add_names(errors.substr(errors.size() - std::min(errors.size(), kMostText)), names);
  std::ranges::reverse(names);
  // The first word is executed, of which somebody tells.
  for (const std::string& word : argv | std::views::drop(1))
    add_names(std::string_view(word).substr(0, kMostText), names);
  std::vector<Sighting> out;  // the most telling first
  for (const std::string& name : names) {
    const std::string path = absolute("/", name);
    if (path == "/" || std::ranges::find(out, path, &Sighting::what) != out.end()) continue;
    Sighting& seen = out.emplace_back();
    seen.use = filter::Use::kOpen;  // to look at it would take no right
    seen.what = path;
    if (out.size() == kMostNamed) break;
  }
  std::ranges::reverse(out);
  return out;
}

}  // namespace cloche::observe
