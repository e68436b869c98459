#include "cli/secret_grants.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/units.h"
#include "observe/secret_search.h"
#include "policy/key_value.h"
#include "policy/secret_places.h"
#include "report/text.h"

namespace cloche::cli {
namespace {

constexpr std::size_t kMostNamed = 4;
// A proof takes its time, and a green page is what others are shown.
constexpr SecretSearch::Bounds kOfOne{200'000, Millis(2000)};
constexpr Millis kOfAll{10'000};
constexpr std::string_view kOfEveryCell = "/usr";  // is shown without a grant

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

// A name in it may be anybody's.
std::string shown_place(const std::string& place, const std::string& home) {
  return printable(without_home(place, home));
}

// What is in a directory that no home directory has to do with: a project with an .env, /etc.
std::string found_below(const std::string& directory, const std::string& home, SecretSearch& search) {
  struct stat st{};
  const bool searched =
      ::stat(directory.c_str(), &st) == 0 && S_ISDIR(st.st_mode) && !path_covers(kOfEveryCell, directory);
  switch (searched ? search.below(directory) : Below::kNothing) {
    case Below::kSecrets:
      return fmt::format(" (with {} and perhaps more)", shown_place(search.first_in(directory), home));
    case Below::kUnknown:
      return " (perhaps: it could not be searched whole)";
    case Below::kNothing:
      break;
  }
  return {};
}

// Nothing: it is no grant of secrets.
std::optional<std::string> secrets_in(const std::string& path, const std::string& home, const Secrets& known,
                                      SecretSearch& search) {
  const std::string grant = with_home(path, home);
  const std::string shown = shown_text(without_home(grant, home));
  if (is_secret_place(grant, known)) return shown;
  std::vector<std::string> inside;
  bool whole = path_covers(grant, home);
  const auto add = [&](const std::string& one) {
    whole = whole || path_covers(grant, one);
    for (std::string& place : secret_places_of(one)) {
      if (path_covers(grant, place) && ::access(place.c_str(), F_OK) == 0) inside.push_back(std::move(place));
    }
  };
  add(home);
  for (const std::string& other : known.homes) {
    if (other != home && ::access(other.c_str(), F_OK) == 0) add(other);
  }
  if (!inside.empty() || whole) return shown + named(inside, home);
  const std::string below = found_below(grant, home, search);
  return below.empty() ? std::nullopt : std::optional(shown + below);
}

}  // namespace

std::vector<std::string> secret_grants(const Policy& policy, const std::vector<std::string>& homes,
                                       const Secrets& known) {
  Secrets all = known;
  for (const std::string& home : homes) all.homes.push_back(clean_path(home));
  SecretSearch search(all, kOfOne, kOfAll);
  const std::pair<const char*, const std::vector<std::string>*> grants[] = {{"files.read", &policy.files.read},
                                                                            {"files.write", &policy.files.write},
                                                                            {"files.exec", &policy.files.exec},
                                                                            {"workspace.path", &policy.workspace.path}};
  std::vector<std::string> out;
  for (const auto& [key, paths] : grants) {
    for (const std::string& path : *paths) {
      for (const std::string& home : homes) {
        const auto found = secrets_in(path, clean_path(home), all, search);
        if (!found) continue;
        out.push_back(fmt::format("{} {}", key, *found));
        break;
      }
    }
  }
  return out;
}

}  // namespace cloche::cli
