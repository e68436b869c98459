#include "tree/place.h"

#include <dirent.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "tree/path_rules.h"

namespace cloche::tree {
namespace {

constexpr std::string_view kHintOldKernel = "Linux 5.6 or newer is needed, and a container must allow openat2";

std::unexpected<Error> cannot_reach(int error, const std::string& path) {
  const std::string step = "open " + printable(path);
  switch (error) {
    case ELOOP:
      return fail_errno(error, step, "a symbolic link is in the way",
                        "nothing is changed through links: put a directory there");
    case ENOTDIR:
      return fail_errno(error, step, "a file or a symbolic link is where a directory should be");
    case EXDEV:
      return fail_errno(error, step, "it lies on another file system than the tree, or outside of it",
                        "apply to that file system's own directory");
    case ENOSYS:
      return fail_errno(error, step, "the kernel lacks a safe way to open it", std::string(kHintOldKernel));
    default:
      return fail_errno(error, step, "could not be reached");
  }
}

}  // namespace

Result<Fd> open_beneath(int root, const std::string& path, int flags, Mounts mounts) {
  struct open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC | O_NOFOLLOW);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  if (mounts == Mounts::kRefuse) how.resolve |= RESOLVE_NO_XDEV;
  // The kernel says "again" when something was renamed while it looked; who renames without end gets an error.
  for (int attempt = 0;; ++attempt) {
    const long fd = ::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how);
    if (fd >= 0) return Fd(static_cast<int>(fd));
    if ((errno != EAGAIN && errno != EINTR) || attempt == 100) return cannot_reach(errno, path);
  }
}

Result<Place> find_place(int root, const std::string& path, Mounts mounts) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  CLOCHE_TRY_ASSIGN(Fd fd, open_beneath(root, folder, O_PATH | O_DIRECTORY, mounts));
  return Place{std::move(fd), slash == std::string::npos ? path : path.substr(slash + 1)};
}

FileKind kind_of(const struct stat& st) {
  if (S_ISREG(st.st_mode)) return FileKind::kRegular;
  if (S_ISDIR(st.st_mode)) return FileKind::kDirectory;
  return S_ISLNK(st.st_mode) ? FileKind::kSymlink : FileKind::kOther;
}

Identity identity_of(const struct stat& st) {
  if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)) return {st.st_ino, 0, 0, 0};
  return {st.st_ino, static_cast<std::uint64_t>(st.st_size), st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
}

Result<Entries> entries_of(int folder, const std::string& name) {
  const std::string step = "list " + printable(name);
  const int fd = ::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return fail_errno(errno, step, "the directory could not be opened");
  const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(fd), &::closedir);
  if (list == nullptr) {
    const int error = errno;
    ::close(fd);
    return fail_errno(error, step, "the directory could not be read");
  }
  errno = 0;
  while (const struct dirent* entry = ::readdir(list.get())) {
    const std::string_view found = entry->d_name;
    if (found != "." && found != "..") return Entries::kSome;
  }
  if (errno != 0) return fail_errno(errno, step, "the directory could not be read");
  return Entries::kNone;
}

Status set_mode(int directory, mode_t mode, const std::string& path) {
  // fchmod takes no O_PATH descriptor; the link in /proc leads to the very inode that is open.
  const std::string link = "/proc/self/fd/" + std::to_string(directory);
  if (::chmod(link.c_str(), mode) != 0) {
    return fail_errno(errno, "mode of " + printable(path), "the mode could not be changed");
  }
  return {};
}

}  // namespace cloche::tree
