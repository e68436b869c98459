#include "tree/home_of.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace cloche::tree {
namespace {

template <typename Is>
std::optional<std::string> home_by(const Is& is) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> users(std::fopen("/etc/passwd", "re"), std::fclose);
  if (users == nullptr) return std::nullopt;
  std::array<char, 16UL * 1024> room{};
  struct passwd entry {};
  struct passwd* found = nullptr;
  while (::fgetpwent_r(users.get(), &entry, room.data(), room.size(), &found) == 0) {
    if (is(entry)) return entry.pw_dir;
  }
  return std::nullopt;
}

std::optional<std::string> own_home() {
  const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe): nobody changes it
  if (home != nullptr) return home;
  return home_by([](const passwd& entry) { return entry.pw_uid == ::geteuid(); });
}

}  // namespace

std::optional<std::string> with_home(std::string_view path) {
  if (!path.starts_with('~')) return std::string(path);
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string_view user = path.substr(1, end - 1);
  std::optional<std::string> home =
      user.empty() ? own_home() : home_by([&](const passwd& entry) { return entry.pw_name == user; });
  if (home) *home += path.substr(end);
  return home;
}

}  // namespace cloche::tree
