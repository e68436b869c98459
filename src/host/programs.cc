#include "host/programs.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#ifndef CLOCHE_INSTALL_LIBEXEC
#define CLOCHE_INSTALL_LIBEXEC "/usr/local/libexec/cloche"
#endif

namespace cloche::host {

bool is_trusted_program(const std::string& path, std::uint32_t uid, std::uint32_t gid) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  if ((info.st_mode & 0111) == 0 || (info.st_mode & S_IWOTH) != 0) return false;
  if (info.st_uid != 0 && info.st_uid != uid) return false;
  return (info.st_mode & S_IWGRP) == 0 || info.st_gid == 0 || info.st_gid == gid;
}

std::optional<std::string> find_bwrap(const std::string& root) {
  constexpr std::array kPlaces = {"/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"};
  for (const char* place : kPlaces) {
    struct stat info{};
    if (::stat((root + place).c_str(), &info) == 0 && S_ISREG(info.st_mode) && (info.st_mode & 0111) != 0) return place;
  }
  return std::nullopt;
}

std::vector<std::string> default_init_candidates(const std::string& root) {
  std::vector<std::string> candidates;
  char exe[PATH_MAX];
  const ssize_t length = ::readlink((root + "/proc/self/exe").c_str(), exe, sizeof exe);
  if (length > 0 && length < static_cast<ssize_t>(sizeof exe)) {
    std::string folder(exe, static_cast<std::size_t>(length));
    if (const std::size_t slash = folder.rfind('/'); slash != std::string::npos) {
      folder.resize(slash);
      candidates.push_back(folder + "/cloche-init");
      candidates.push_back(folder + "/../libexec/cloche/cloche-init");
    }
  }
  candidates.emplace_back(CLOCHE_INSTALL_LIBEXEC "/cloche-init");
  return candidates;
}

std::optional<std::string> find_init(const std::string& root, const std::vector<std::string>& candidates,
                                     std::uint32_t uid, std::uint32_t gid) {
  for (const std::string& candidate : candidates) {
    if (candidate.starts_with('/') && is_trusted_program(root + candidate, uid, gid)) return candidate;
  }
  return std::nullopt;
}

}  // namespace cloche::host
