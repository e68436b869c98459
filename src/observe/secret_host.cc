#include "observe/secret_host.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>

#include "base/units.h"
#include "observe/host_look.h"
#include "observe/secret_search.h"
#include "policy/key_value.h"
#include "sys/users.h"
#include "tree/protected_changes.h"

namespace cloche {
namespace {

constexpr std::size_t kMostHomes = 256;
constexpr SecretSearch::Bounds kOfOne{5000, Millis(20)};
constexpr Millis kOfAll{50};

void add_once(std::vector<std::string>& list, const std::string& path) {
  if (list.size() < kMostHomes && std::ranges::find(list, path) == list.end()) list.push_back(path);
}

// Accounts of services have directories of the system for a home, or none.
bool has_own_home(const sys::User& user) {
  constexpr auto kNone = std::to_array<std::string_view>(
      {"/usr", "/bin", "/sbin", "/lib", "/dev", "/proc", "/sys", "/run", "/tmp", "/nonexistent"});
  const bool logs_in = user.uid == 0 || user.uid >= 1000 ||
                       !(user.shell.ends_with("/nologin") || user.shell.ends_with("/false") || user.shell.empty());
  return logs_in && user.home.starts_with('/') && clean_path(user.home) != "/" &&
         std::ranges::none_of(kNone, [&](std::string_view tree) { return path_covers(tree, user.home); });
}

std::string real_path(const std::string& path, const HostLook& host) {
  std::error_code error;
  if (host.lies_elsewhere(path)) return path;
  const std::string real = std::filesystem::canonical(path, error).string();
  return error ? path : real;
}

}  // namespace

std::vector<std::string> homes_of_host() {
  const HostLook host = HostLook::of_this_host();
  std::vector<std::string> out;
  for (const sys::User& user : sys::users_of_this_host()) {
    if (!has_own_home(user)) continue;
    const std::string home = clean_path(user.home);
    add_once(out, home);
    add_once(out, real_path(home, host));
  }
  if (host.lies_elsewhere("/home")) return out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/home", error)) {
    const std::string home = entry.path().string();
    add_once(out, home);
    add_once(out, real_path(home, host));
  }
  return out;
}

void add_link_targets(Secrets& secrets, const std::string& home) {
  std::error_code none;
  if (HostLook::of_this_host().lies_elsewhere(home) || !std::filesystem::exists(home, none)) return;
  for (const std::string& place : secret_places_of(home)) {
    std::error_code error;
    const std::string real = std::filesystem::canonical(place, error).string();
    // Histories that nobody wants lead to /dev/null.
    if (error || real == place || path_covers(real, secrets.home) || path_covers("/dev", real)) continue;
    if (std::ranges::find(secrets.places, real) == secrets.places.end()) secrets.places.push_back(real);
  }
}

Secrets secrets_of_users(const std::string& home) {
  Secrets out;
  out.homes = homes_of_host();
  if (!home.starts_with('/')) return out;
  const std::string spelled = clean_path(home);
  out.home = real_path(spelled, HostLook::of_this_host());
  out.homes.push_back(spelled);
  add_link_targets(out, out.home);
  return out;
}

std::vector<std::string> places_of_programs(std::string_view path, const std::vector<std::string>& homes) {
  const HostLook host = HostLook::of_this_host();
  std::vector<std::string> out;
  const auto add = [&](const std::string& place) {
    add_once(out, place);
    add_once(out, real_path(place, host));
  };
  while (!path.empty()) {
    const std::string_view one = path.substr(0, path.find(':'));
    path.remove_prefix(std::min(one.size() + 1, path.size()));
    if (one.starts_with('/')) add(clean_path(std::string(one)));
  }
  // Start-up files put it into PATH as soon as it is there.
  for (const std::string& home : homes) add(clean_path(home + "/bin"));
  return out;
}

namespace {

// What git obeys, as long as there is time to look.
class GitSearch {
 public:
  std::string why(const std::string& path, Secrets::GitAsks what) {
    if (spent_ > kOfAll) return "there was no time to see whether git runs it";
    const auto begun = Clock::now();
    // A way counts as a link in its place would.
    const auto kind = what == Secrets::GitAsks::kWay ? tree::FileKind::kSymlink : tree::FileKind::kRegular;
    const auto reason =
        tree::why_git_obeys(path, kind, [this](const std::string& one) { return !host_.lies_elsewhere(one); });
    spent_ += Clock::now() - begun;
    return reason.value_or("");
  }

 private:
  HostLook host_ = HostLook::of_this_host();
  Clock::duration spent_{};
};

}  // namespace

Secrets secrets_for_advice() {
  const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe): nobody changes it
  Secrets out = secrets_of_users(home == nullptr ? "" : home);
  const auto search = std::make_shared<SecretSearch>(out, kOfOne, kOfAll);
  search->look_for_obeyed();
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nobody changes it
  out.programs = places_of_programs(path == nullptr ? "" : path, out.homes);
  out.search = [search](const std::string& directory) { return search->below(directory); };
  out.git = [git = std::make_shared<GitSearch>()](const std::string& named, Secrets::GitAsks what) {
    return git->why(named, what);
  };
  out.obeyed = [search](const std::string& directory) { return search->has_obeyed(directory); };
  return out;
}

}  // namespace cloche
