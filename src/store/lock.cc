#include "store/lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "store/files.h"

namespace cloche::store {
namespace {

constexpr const char* kStep = "lock of the run";

struct flock range_of(Lock::Part part, short type) {
  struct flock out{};
  out.l_type = type;
  out.l_whence = SEEK_SET;
  out.l_start = part == Lock::Part::kUse ? 1 : 0;
  out.l_len = part == Lock::Part::kBoth ? 2 : 1;
  return out;
}

}  // namespace

Result<Lock> Lock::open(int directory, Missing missing, const char* name) {
  // Without blocking: a pipe in its place must not hold us.
  constexpr int kFlags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const int create = missing == Missing::kMake ? O_CREAT : 0;
  Fd file(::openat(directory, name, O_RDWR | create | kFlags, 0600));
  // A reader gets along with a file system that is read-only.
  if (!file.valid() && errno == EROFS) file = Fd(::openat(directory, name, O_RDONLY | kFlags));
  if (!file.valid()) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kSystem;
    return std::unexpected(Error{code, kStep, errno, "could not be opened", {}});
  }
  struct stat st{};
  if (::fstat(file.get(), &st) != 0 || !S_ISREG(st.st_mode)) {
    return fail(ErrorCode::kRefused, kStep, "it is not a regular file", "`cloche gc` removes the run");
  }
  Fd folder(::fcntl(directory, F_DUPFD_CLOEXEC, 0));
  if (!folder.valid()) return fail_errno(errno, kStep, "could not be opened");
  return Lock(std::move(file), std::move(folder), name);
}

Result<Lock::Taken> Lock::take(Part part, Share share) {
  struct flock range = range_of(part, share == Share::kAlone ? F_WRLCK : F_RDLCK);
  if (::fcntl(file_.get(), F_OFD_SETLK, &range) != 0) {
    if (errno == EAGAIN || errno == EACCES) return Taken::kBusy;
    return fail_errno(errno, kStep, "could not be taken");
  }
  // Of a living run everybody knows the pid, and of one that is being removed nobody asks. Lost on a full disk, and not
  // needed.
  if (share == Share::kAlone && part == Part::kUse) {
    (void)replace_file(directory_.get(), holder_name().c_str(), std::to_string(::getpid()) + "\n", Durable::kNo);
  }
  return Taken::kYes;
}

Result<Lock::Taken> Lock::probe(Part part) const {
  struct flock range = range_of(part, F_WRLCK);
  if (::fcntl(file_.get(), F_OFD_GETLK, &range) != 0) return fail_errno(errno, kStep, "could not be asked for");
  return range.l_type == F_UNLCK ? Taken::kYes : Taken::kBusy;
}

std::string Lock::holder() const {
  constexpr std::size_t kLimit = 64;
  const auto text = read_in(directory_.get(), holder_name().c_str(), kLimit);
  pid_t pid = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), pid);
  return pid > 0 ? "process " + std::to_string(pid) : "another process";
}

Status Lock::write(std::string_view text) { return write_whole(file_.get(), text, name_.c_str()); }

}  // namespace cloche::store
