#include "files/guest_side.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <memory>
#include <string_view>

#include "files/proposal.h"
#include "tree/path_rules.h"

namespace cloche::files {
namespace {

std::unexpected<Error> cannot(const std::string& name, std::string message) {
  return fail_errno(errno, "read " + tree::printable(name), std::move(message));
}

// Through /proc, whose link leads to the very inode that was opened.
std::string link_to(int place) { return "/proc/self/fd/" + std::to_string(place); }

Result<Fd> reopen(int place, mode_t mode, mode_t rights, int flags, const std::string& name) {
  if ((mode & rights) != rights) (void)::chmod(link_to(place).c_str(), (mode & 07777) | rights);
  Fd opened(::open(link_to(place).c_str(), flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!opened.valid()) return cannot(name, "could not be opened");
  return opened;
}

Result<Fd> open_with_rights(int folder, const std::string& name, mode_t kind, mode_t rights, int flags) {
  const Fd place(::openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat st{};
  if (!place.valid() || ::fstat(place.get(), &st) != 0) return cannot(name, "could not be reached");
  if ((st.st_mode & S_IFMT) != kind) return fail(ErrorCode::kSystem, "read " + tree::printable(name), "it changed");
  return reopen(place.get(), st.st_mode, rights, flags, name);
}

}  // namespace

Result<std::vector<std::string>> names_in(int folder) {
  // Opened anew, so that reading starts at the beginning; the caller's may be O_PATH.
  const int fd = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return fail_errno(errno, "list a directory", "it could not be opened");
  const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(fd), &::closedir);
  if (list == nullptr) {
    const int error = errno;
    ::close(fd);
    return fail_errno(error, "list a directory", "it could not be read");
  }
  std::vector<std::string> names;
  errno = 0;
  while (const struct dirent* entry = ::readdir(list.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return fail_errno(errno, "list a directory", "it could not be read");
  return names;
}

Result<Fd> open_guest_top(int directory) {
  struct stat st{};
  if (::fstat(directory, &st) != 0) return cannot("the workspace", "could not be inspected");
  return reopen(directory, st.st_mode, 0700, O_RDONLY | O_DIRECTORY, "the workspace");
}

Result<Fd> open_guest_directory(int folder, const std::string& name) {
  return open_with_rights(folder, name, S_IFDIR, 0700, O_RDONLY | O_DIRECTORY);
}

Result<Fd> open_guest_file(int folder, const std::string& name) {
  return open_with_rights(folder, name, S_IFREG, 0400, O_RDONLY);
}

Result<std::string> read_link(int folder, const std::string& name) {
  std::array<char, PATH_MAX + 1> target{};
  const ssize_t size = ::readlinkat(folder, name.c_str(), target.data(), target.size());
  if (size < 0) return cannot(name, "the link could not be read");
  return std::string(target.data(), static_cast<std::size_t>(size));
}

bool is_opaque(int directory) {
  char value = 0;
  return ::fgetxattr(directory, "user.overlay.opaque", &value, 1) == 1 && value == 'y';
}

bool has_attributes(int fd) {
  const ssize_t needed = ::flistxattr(fd, nullptr, 0);
  if (needed <= 0) return false;
  std::string names(static_cast<std::size_t>(needed), '\0');
  const ssize_t size = ::flistxattr(fd, names.data(), names.size());
  if (size < 0) return true;
  std::string_view left(names.data(), static_cast<std::size_t>(size));
  constexpr std::array<std::string_view, 5> kNotTheGuests{"user.overlay.", "trusted.overlay.", "security.selinux",
                                                          "security.ima", "security.evm"};
  while (!left.empty()) {
    const std::string_view name = left.substr(0, left.find('\0'));
    left.remove_prefix(std::min(left.size(), name.size() + 1));
    if (std::ranges::none_of(kNotTheGuests, [&](std::string_view known) { return name.starts_with(known); }))
      return true;
  }
  return false;
}

std::optional<std::vector<std::pair<std::string, std::string>>> user_attributes(int fd) {
  std::vector<std::pair<std::string, std::string>> out;
  std::string names(XATTR_LIST_MAX, '\0');
  const ssize_t size = ::flistxattr(fd, names.data(), names.size());
  std::string_view left(names.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  std::size_t bytes = 0;
  while (!left.empty()) {
    std::string name(left.substr(0, left.find('\0')));
    left.remove_prefix(std::min(left.size(), name.size() + 1));
    if (!name.starts_with("user.") || name.starts_with("user.overlay.")) continue;
    std::string value(kMostAttributeBytes, '\0');
    const ssize_t length = ::fgetxattr(fd, name.c_str(), value.data(), value.size());
    if (length < 0) return std::nullopt;
    value.resize(static_cast<std::size_t>(length));
    bytes += name.size() + value.size();
    if (bytes > kMostAttributeBytes || out.size() >= kMostAttributes) return std::nullopt;
    out.emplace_back(std::move(name), std::move(value));
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace cloche::files
