#include "observe/named.h"

#include <limits.h>

#include <algorithm>
#include <ranges>

namespace cloche::observe {
namespace {

// Of the end of what a guest said.
constexpr std::size_t kMostText = 4096;

// What surrounds a name in a message or a command. Names with blanks are cut at them, and found to be nothing.
bool ends_name(std::string_view text, std::size_t at) {
  constexpr std::string_view kAround = "\"'`()[]{}<>|;&=,*?$\\\x7f";
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte <= ' ' || kAround.find(text[at]) != std::string_view::npos) return true;
  // Quotation marks as C libraries write them where they can.
  constexpr std::string_view kMarks = "\xe2\x80";
  return text.substr(at).starts_with(kMarks) || (byte == 0x80 && at > 0 && text[at - 1] == kMarks[0]) ||
         (at > 1 && text.substr(at - 2).starts_with(kMarks));
}

// Beginning with '/', where a name can begin; "a/b" and "http://x" are none.
void add_names(std::string_view text, std::vector<std::string>& out) {
  std::size_t at = 0;
  while ((at = text.find('/', at)) != std::string_view::npos) {
    const bool begins = at == 0 || ends_name(text, at - 1) || (text[at - 1] == ':' && text.substr(at, 2) != "//");
    std::size_t end = at;
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
  for (const std::string& word : argv | std::views::drop(1)) add_names(word, names);
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
