#include "files/hidden.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sys/file.h"

namespace cloche::files {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// Where the directory is by now, in words: somebody may have renamed it while the guest ran.
Result<std::string> path_of(const Destination& to) {
  std::string path(std::size_t{PATH_MAX}, '\0');
  const std::string link = fmt::format("/proc/self/fd/{}", to.parent.get());
  const ssize_t n = ::readlink(link.c_str(), path.data(), path.size());
  if (n < 0) return not_written(to, "its directory cannot be found any more");
  path.resize(static_cast<std::size_t>(n));
  return path == "/" ? std::string() : path;
}

bool is_ours(int folder) {
  struct stat st{};
  return ::fstat(folder, &st) == 0 && st.st_uid == ::geteuid() && (st.st_mode & 0077) == 0;
}

// By the descriptor: whatever has its name by now, it is this one that is emptied. False: `go_on` said no.
bool empty(int folder, const std::function<bool()>& go_on) {
  if (::unlinkat(folder, Hidden::kThing, 0) == 0) return true;
  const Status removed = sys::remove_tree(fmt::format("/proc/self/fd/{}/{}", folder, Hidden::kThing), go_on);
  return removed || removed.error().errno_value != ECANCELED;
}

}  // namespace

std::unexpected<Error> not_written(const Destination& to, std::string message) {
  return fail_errno(errno, "get " + to.shown, std::move(message));
}

Result<Hidden> Hidden::make(const Destination& to, const Caretaker& caretaker) {
  constexpr int kTries = 100;
  CLOCHE_TRY_ASSIGN(const std::string place, path_of(to));
  for (int i = 0; i < kTries; ++i) {
    std::string name = fmt::format("{}{}-{}", kHiddenPrefix, ::getpid(), i);
    struct stat st{};
    // What is there already is never given into the care of anybody who removes it.
    if (::fstatat(to.parent.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) continue;
    const std::string path = place + "/" + name;
    if (caretaker.watch) CLOCHE_TRY(caretaker.watch(path));
    if (::mkdirat(to.parent.get(), name.c_str(), 0700) == 0) {
      return made(Hidden(to.parent.get(), std::move(name), path, caretaker), to);
    }
    const int error = errno;
    if (caretaker.forget) caretaker.forget(path);
    errno = error;
    if (error != EEXIST) break;
  }
  return not_written(to, "a directory could not be made");
}

Hidden::~Hidden() {
  if (!folder_.valid()) return;
  (void)empty(folder_.get(), [] { return true; });
  const bool gone = ::unlinkat(parent_, name_.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
  if (gone && caretaker_->forget) caretaker_->forget(path_);
}

Result<Hidden> Hidden::made(Hidden hidden, const Destination& to) {
  hidden.folder_ = Fd(::openat(hidden.parent_, hidden.name_.c_str(), kDirectory));
  if (hidden.folder_.valid() && is_ours(hidden.folder_.get())) {
    const auto id = folder_id_now(hidden.folder_.get());
    if (id && hidden.caretaker_->made) hidden.caretaker_->made(hidden.path_, *id);
    return hidden;
  }
  hidden.folder_.reset();
  if (hidden.caretaker_->forget) hidden.caretaker_->forget(hidden.path_);
  return fail(ErrorCode::kSystem, "get " + to.shown, "somebody else changes its directory meanwhile");
}

bool remove_left_copy(const LeftCopy& left, const std::function<bool()>& go_on) {
  const std::size_t slash = left.path.rfind('/');
  if (!left.path.starts_with('/') || !std::string_view(left.path).substr(slash + 1).starts_with(kHiddenPrefix)) return true;
  const auto parent = sys::open_without_symlinks(slash == 0 ? "/" : left.path.substr(0, slash));
  if (!parent) return true;
  const std::string name = left.path.substr(slash + 1);
  const Fd folder(::openat(parent->get(), name.c_str(), kDirectory));
  if (!folder.valid() || !is_ours(folder.get())) return true;
  if (left.id) {
    const auto found = folder_id_now(folder.get());
    if (!found || !found->is_same_as(*left.id)) return true;
    if (!empty(folder.get(), go_on)) return false;
  }
  // Only an empty one goes. Where somebody put another one there since the look at it, that was empty, too.
  (void)::unlinkat(parent->get(), name.c_str(), AT_REMOVEDIR);
  return true;
}

}  // namespace cloche::files
