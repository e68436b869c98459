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
#include "tree/place.h"

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

// One that is not as we made it: whoever can write beside the target may have exchanged it for another one of ours.
bool is_as_made(int folder) {
  struct stat st{};
  if (::fstat(folder, &st) != 0 || st.st_uid != ::geteuid() || (st.st_mode & 0077) != 0) return false;
  const auto entries = tree::entries_of(folder, ".");
  return entries && *entries == tree::Entries::kNone;
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
  // By the descriptor: whatever has its name by now, it is this one that is emptied.
  if (::unlinkat(folder_.get(), kThing, 0) != 0) {
    (void)sys::remove_tree(fmt::format("/proc/self/fd/{}/{}", folder_.get(), kThing));
  }
  const bool gone = ::unlinkat(parent_, name_.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
  if (gone && caretaker_->forget) caretaker_->forget(path_);
}

Result<Hidden> Hidden::made(Hidden hidden, const Destination& to) {
  hidden.folder_ = Fd(::openat(hidden.parent_, hidden.name_.c_str(), kDirectory));
  if (hidden.folder_.valid() && is_as_made(hidden.folder_.get())) {
    const auto id = sys::directory_id(hidden.folder_.get());
    if (!id) return not_written(to, "a directory could not be inspected");
    if (hidden.caretaker_->made) CLOCHE_TRY(hidden.caretaker_->made(hidden.path_, *id));
    return hidden;
  }
  hidden.folder_.reset();
  if (hidden.caretaker_->forget) hidden.caretaker_->forget(hidden.path_);
  return fail(ErrorCode::kSystem, "get " + to.shown, "somebody else changes its directory meanwhile");
}

Status remove_left_copy(const LeftCopy& left, const std::function<bool()>& go_on) {
  const std::string_view path = left.path;
  if (!path.substr(path.rfind('/') + 1).starts_with(kHiddenPrefix)) return {};
  std::optional<sys::DirectoryId> id;
  // The device's number is not noted: it may be another one when the host was started anew.
  if (left.id) id = {0, left.id->inode, left.id->born_seconds, left.id->born_nanoseconds};
  return sys::remove_left_copy(left.path, id, go_on);
}

}  // namespace cloche::files
