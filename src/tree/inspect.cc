#include "tree/inspect.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "tree/path_rules.h"

namespace cloche::tree {
namespace {

std::string step_for(const std::string& path) { return "inspect " + printable(path); }

Result<struct stat> status_of(int fd, const std::string& path) {
  struct stat st{};
  if (::fstat(fd, &st) != 0) return fail_errno(errno, step_for(path), "could not be inspected");
  return st;
}

Status read_content(int place, const std::string& path, Seen& seen) {
  CLOCHE_TRY_ASSIGN(const Fd file, reopen_regular(place, path));
  CLOCHE_TRY_ASSIGN(seen.state.digest, sys::sha256_of(file.get(), printable(path)));
  CLOCHE_TRY_ASSIGN(const struct stat after, status_of(file.get(), path));
  if (identity_of(after) != seen.identity) {
    return fail(ErrorCode::kSystem, step_for(path), "the file changed while it was read",
                "try again when nothing writes to it");
  }
  return {};
}

Status read_target(int place, const std::string& path, Seen& seen) {
  std::array<char, PATH_MAX + 1> target{};
  const ssize_t size = ::readlinkat(place, "", target.data(), target.size());
  if (size < 0) return fail_errno(errno, step_for(path), "the link could not be read");
  seen.state.target.assign(target.data(), static_cast<std::size_t>(size));
  return {};
}

}  // namespace

Result<Fd> reopen_regular(int place, const std::string& path) {
  CLOCHE_TRY_ASSIGN(const struct stat expected, status_of(place, path));
  if (!S_ISREG(expected.st_mode)) {
    return fail(ErrorCode::kRefused, step_for(path), "it is not a regular file");
  }
  // By name, a fifo or a device could have come in between; the link in /proc leads to the inode that is open.
  const std::string link = "/proc/self/fd/" + std::to_string(place);
  const int fd = ::open(link.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return fail_errno(errno, step_for(path), "could not be opened for reading");
  Fd file(fd);
  CLOCHE_TRY_ASSIGN(const struct stat found, status_of(fd, path));
  if (found.st_ino != expected.st_ino || found.st_dev != expected.st_dev || !S_ISREG(found.st_mode)) {
    return fail(ErrorCode::kRefused, step_for(path), "another file was opened than the one that was found");
  }
  return file;
}

Result<std::optional<Seen>> look(int root, const std::string& path, Mounts mounts) {
  CLOCHE_TRY(check_path(path));
  auto opened = open_beneath(root, path, O_PATH, mounts);
  if (!opened) {
    const int error = opened.error().errno_value;
    if (error == ENOENT || error == ENOTDIR) return std::nullopt;
    return std::unexpected(std::move(opened).error());
  }
  const int place = opened->get();
  CLOCHE_TRY_ASSIGN(const struct stat st, status_of(place, path));
  Seen seen;
  seen.state.kind = kind_of(st);
  seen.state.mode = st.st_mode & 0777;
  seen.whole_mode = st.st_mode & 07777;
  seen.identity = identity_of(st);
  if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && st.st_nlink == 1) seen.changed = changed_at(st);
  seen.owner = {st.st_uid, st.st_gid, true};
  if (seen.state.kind == FileKind::kRegular) {
    seen.state.size = static_cast<std::uint64_t>(st.st_size);
    seen.state.links = st.st_nlink;
    CLOCHE_TRY(read_content(place, path, seen));
  } else if (seen.state.kind == FileKind::kSymlink) {
    CLOCHE_TRY(read_target(place, path, seen));
  }
  return seen;
}

Result<std::optional<FileState>> inspect(int root, const std::string& path) {
  CLOCHE_TRY_ASSIGN(std::optional<Seen> seen, look(root, path, Mounts::kCross));
  if (!seen) return std::nullopt;
  return std::move(seen->state);
}

}  // namespace cloche::tree
