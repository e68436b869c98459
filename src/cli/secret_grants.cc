#include "cli/secret_grants.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/units.h"
#include "policy/key_value.h"
#include "policy/secret_places.h"

namespace cloche::cli {
namespace {

constexpr std::size_t kMostNamed = 4;

std::string with_home(const std::string& path, const std::string& home) {
  return clean_path(path == "~" || path.starts_with("~/") ? home + path.substr(1) : path);
}
std::string without_home(const std::string& path, const std::string& home) {
  return path != home && path_covers(home, path) ? "~" + path.substr(home.size()) : path == home ? "~" : path;
}

// " (with ~/.ssh, ~/.netrc and 2 more)"
std::string named(const std::vector<std::string>& places, const std::string& home) {
  std::string out;
  for (std::size_t i = 0; i < std::min(places.size(), kMostNamed); ++i) {
    out += fmt::format("{}{}", i == 0 ? "" : ", ", without_home(places[i], home));
  }
  if (places.size() > kMostNamed) out += fmt::format(" and {} more", places.size() - kMostNamed);
  return out.empty() ? out : fmt::format(" (with {})", out);
}

// Nothing: it is no grant of secrets.
std::optional<std::string> secrets_in(const std::string& path, const std::string& home,
                                      const std::vector<std::string>& others) {
  const std::string grant = with_home(path, home);
  const std::string shown = shown_text(without_home(grant, home));
  if (is_secret_place(grant, {.home = home, .homes = others})) return shown;
  std::vector<std::string> inside;
  bool whole = path_covers(grant, home);
  const auto add = [&](const std::string& one) {
    whole = whole || path_covers(grant, one);
    for (std::string& place : secret_places_of(one)) {
      if (path_covers(grant, place) && ::access(place.c_str(), F_OK) == 0) inside.push_back(std::move(place));
    }
  };
  add(home);
  for (const std::string& other : others) {
    if (other != home && ::access(other.c_str(), F_OK) == 0) add(other);
  }
  if (inside.empty() && !whole) return std::nullopt;
  return shown + named(inside, home);
}

}  // namespace

std::vector<std::string> secret_grants(const Policy& policy, const std::vector<std::string>& homes,
                                       const std::vector<std::string>& others) {
  const std::pair<const char*, const std::vector<std::string>*> grants[] = {{"files.read", &policy.files.read},
                                                                            {"files.write", &policy.files.write},
                                                                            {"files.exec", &policy.files.exec},
                                                                            {"workspace.path", &policy.workspace.path}};
  std::vector<std::string> out;
  for (const auto& [key, paths] : grants) {
    for (const std::string& path : *paths) {
      for (const std::string& home : homes) {
        const auto found = secrets_in(path, clean_path(home), others);
        if (!found) continue;
        out.push_back(fmt::format("{} {}", key, *found));
        break;
      }
    }
  }
  return out;
}

}  // namespace cloche::cli
