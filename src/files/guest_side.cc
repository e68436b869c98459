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

bool is_hidden_from_us(int error) {
  constexpr std::array kAnswers = {EACCES, EPERM, ENOENT, ENOTDIR, ELOOP, EXDEV, ENXIO, ENODEV, ESTALE};
  return std::ranges::find(kAnswers, error) != kAnswers.end();
}

bool is_hidden_from_us(const Error& error) {
  return error.errno_value == 0 ? error.code == ErrorCode::kRefused : is_hidden_from_us(error.errno_value);
}

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

}  // namespace cloche::files
