#include "tree/home_of.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "sys/users.h"

namespace cloche::tree {
namespace {

template <typename Is>
std::optional<std::string> home_by(const Is& is) {
  const std::vector<sys::User> users = sys::users_of_this_host();
  const auto found = std::ranges::find_if(users, is);
  return found == users.end() ? std::nullopt : std::optional(found->home);
}

std::optional<std::string> own_home() {
  const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe): nobody changes it
  if (home != nullptr) return home;
  return home_by([](const sys::User& user) { return user.uid == ::geteuid(); });
}

}  // namespace

std::optional<std::string> with_home(std::string_view path) {
  if (!path.starts_with('~')) return std::string(path);
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string_view user = path.substr(1, end - 1);
  std::optional<std::string> home =
      user.empty() ? own_home() : home_by([&](const sys::User& one) { return one.name == user; });
  if (home) *home += path.substr(end);
  return home;
}

}  // namespace cloche::tree
