#include "sys/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

#include "wire/remove_tree.h"

namespace cloche::sys {
namespace {

Status write_all(int fd, std::string_view text, const std::string& name) {
  while (!text.empty()) {
    ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "write " + name, "could not be written");
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

}  // namespace

Result<Fd> open_file(const std::string& path, int flags, mode_t mode) {
  int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  if (fd < 0) return fail_errno(errno, "open " + path, "could not be opened");
  return Fd(fd);
}

Result<Fd> open_without_symlinks(const std::string& path, int folder) {
  struct {
    std::uint64_t flags, mode, resolve;
  } how{O_PATH | O_CLOEXEC | O_NOFOLLOW, 0, 0x04 /* RESOLVE_NO_SYMLINKS */};
  constexpr long kOpenat2 = 437;
  const int fd = static_cast<int>(::syscall(kOpenat2, folder, path.c_str(), &how, sizeof how));
  // With O_PATH and O_NOFOLLOW a link at the very end is opened itself instead of being refused.
  struct stat st{};
  Fd owner(fd);
  const bool seen = fd >= 0 && ::fstat(fd, &st) == 0;
  const bool link = seen ? S_ISLNK(st.st_mode) : fd < 0 && errno == ELOOP;
  if (seen && !link) return owner;
  if (link) {
    return std::unexpected(Error{ErrorCode::kRefused, "grant " + path, 0, "the path leads through a symbolic link",
                                 "grant the real path that it leads to"});
  }
  return std::unexpected(Error{ErrorCode::kNotFound, "grant " + path, errno, "the granted path cannot be reached",
                               "correct [files] in the policy"});
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  CLOCHE_TRY_ASSIGN(Fd fd, open_file(path, O_RDONLY));
  std::string text;
  char chunk[8192];
  for (;;) {
    ssize_t n = ::read(fd.get(), chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "read " + path, "could not be read");
    if (n == 0) return text;
    if (text.size() + static_cast<std::size_t>(n) > limit) {
      return fail(ErrorCode::kInvalidInput, "read " + path, "is larger than " + std::to_string(limit) + " bytes");
    }
    text.append(chunk, static_cast<std::size_t>(n));
  }
}

Status write_file(const std::string& path, std::string_view text) {
  CLOCHE_TRY_ASSIGN(Fd fd, open_file(path, O_WRONLY));
  return write_all(fd.get(), text, path);
}

Result<Fd> open_checked(const std::string& path, long file_system_magic) {
  CLOCHE_TRY_ASSIGN(Fd fd, open_file(path, O_WRONLY | O_NOFOLLOW));
  struct statfs fs{};
  if (::fstatfs(fd.get(), &fs) != 0) return fail_errno(errno, "statfs " + path, "could not be inspected");
  if (fs.f_type != file_system_magic) {
    return fail(ErrorCode::kRefused, "write " + path, "does not lie on the file system it should",
                "something is mounted over it: unmount that first");
  }
  return fd;
}

Status write_checked(const std::string& path, std::string_view text, long file_system_magic) {
  CLOCHE_TRY_ASSIGN(Fd fd, open_checked(path, file_system_magic));
  return write_all(fd.get(), text, path);
}

Result<Fd> make_memfd(const char* name, std::string_view contents) {
  int fd = ::memfd_create(name, MFD_CLOEXEC);
  if (fd < 0) return fail_errno(errno, "memfd_create", "could not make a memory file");
  Fd owner(fd);
  CLOCHE_TRY(write_all(fd, contents, name));
  return owner;
}

std::unexpected<Error> not_removed(int error, const std::string& path) {
  if (error != EBUSY) return fail_errno(error, "remove " + path, "could not be removed");
  return fail_errno(error, "remove " + path, "something is mounted in it, which was left alone", "unmount that first");
}

Status remove_tree(const std::string& path) {
  return remove_tree(path, [] { return true; });
}

Status remove_tree(const std::string& path, const std::function<bool()>& go_on) {
  if (int error = wire::remove_tree(path.c_str(), go_on); error != 0) return not_removed(error, path);
  return {};
}

}  // namespace cloche::sys
