#include "observe/sighting.h"

#include <string_view>

namespace cloche::observe {

std::string absolute(const std::string& from, const std::string& path) {
  const std::string whole = path.starts_with('/') ? path : from + "/" + path;
  std::string out;
  std::string_view rest = whole;
  while (!rest.empty()) {
    const auto slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      out.erase(out.empty() ? 0 : out.rfind('/'));
      continue;
    }
    out += '/';
    out += part;
  }
  return out.empty() ? "/" : out;
}

}  // namespace cloche::observe
