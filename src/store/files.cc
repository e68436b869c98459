#include "store/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"

namespace cloche::store {

Result<std::string> read_in(int directory, const char* name, std::size_t limit) {
  if (directory < 0) return std::unexpected(Error{ErrorCode::kNotFound, name, ENOENT, "could not be opened", {}});
  const Fd file(::openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.valid()) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kSystem;
    return std::unexpected(Error{code, name, errno, "could not be opened", {}});
  }
  struct stat st{};
  if (::fstat(file.get(), &st) != 0 || !S_ISREG(st.st_mode)) {
    return fail(ErrorCode::kInvalidInput, name, "it is not a regular file");
  }
  std::string out;
  char chunk[8192];
  for (;;) {
    const ssize_t n = ::read(file.get(), chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, name, "could not be read");
    if (n == 0) return out;
    out.append(chunk, static_cast<std::size_t>(n));
    if (out.size() > limit) return fail(ErrorCode::kInvalidInput, name, "it is too long");
  }
}

Status write_whole(int fd, std::string_view text, const char* name) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, name, "could not be written");
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Status write_new(int directory, const char* name, std::string_view text, Durable durable) {
  const Fd file(::openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return fail_errno(errno, name, "could not be made");
  Status written = write_whole(file.get(), text, name);
  if (written && durable == Durable::kYes && ::fsync(file.get()) != 0) {
    written = fail_errno(errno, name, "could not be written");
  }
  if (!written) ::unlinkat(directory, name, 0);
  return written;
}

Status replace_file(int directory, const char* name, std::string_view text, Durable durable) {
  const std::string fresh = std::string(".") + name;
  Status written = write_new(directory, fresh.c_str(), text, durable);
  // What a killed writer left gives way.
  if (!written && written.error().errno_value == EEXIST && ::unlinkat(directory, fresh.c_str(), 0) == 0) {
    written = write_new(directory, fresh.c_str(), text, durable);
  }
  CLOCHE_TRY(written);
  if (::renameat(directory, fresh.c_str(), directory, name) != 0) {
    const int error = errno;
    ::unlinkat(directory, fresh.c_str(), 0);
    return fail_errno(error, name, "could not be put in place");
  }
  if (durable == Durable::kYes && ::fsync(directory) != 0) return fail_errno(errno, name, "could not be made durable");
  return {};
}

}  // namespace cloche::store
