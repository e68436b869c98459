#include "cli/borrowed_stance.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

extern "C" char** environ;

namespace cloche::cli {

std::optional<std::vector<char*>> point_at(std::string& strings, std::size_t count) {
  std::vector<char*> out;
  if (count > strings.size()) return std::nullopt;
  out.reserve(count + 1);
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t end = strings.find('\0', at);
    if (end == std::string::npos) return std::nullopt;
    out.push_back(strings.data() + at);
    at = end + 1;
  }
  if (at != strings.size()) return std::nullopt;
  return out;
}

BorrowedStance::BorrowedStance(Stance stance) : stance_(std::move(stance)) {}

Result<BorrowedStance> BorrowedStance::take(Stance stance) {
  BorrowedStance out(std::move(stance));
  auto pointers = point_at(out.stance_.strings, out.stance_.words + out.stance_.variables);
  if (!pointers) return fail(ErrorCode::kInvalidInput, "attendant", "a command's words are not whole");
  out.pointers_ = std::move(*pointers);
  out.pointers_.push_back(nullptr);
  if (::fchdir(out.stance_.directory.get()) != 0) return fail_errno(errno, "attendant", "no way to a directory");
  out.taken_ = true;
  for (int i = 0; i < 3; ++i) {
    if (::dup2(out.stance_.streams[i].get(), i) != i) return fail_errno(errno, "attendant", "no way to a stream");
    out.stance_.streams[i].reset();
  }
  ::umask(out.stance_.umask & 0777);
  out.own_environment_ = std::exchange(environ, out.pointers_.data() + out.stance_.words);
  return out;
}

BorrowedStance::BorrowedStance(BorrowedStance&& other) noexcept
    : stance_(std::move(other.stance_)),
      pointers_(std::move(other.pointers_)),
      own_environment_(std::exchange(other.own_environment_, nullptr)),
      taken_(std::exchange(other.taken_, false)) {}

BorrowedStance::~BorrowedStance() {
  if (own_environment_ != nullptr) environ = own_environment_;
  if (!stance_.strings.empty()) ::explicit_bzero(stance_.strings.data(), stance_.strings.size());
  if (!taken_) return;
  ::umask(077);
  (void)!::chdir("/");
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  // Without it the caller's streams would stay open, and whoever reads from them would wait for an end.
  for (int i = 0; i < 3; ++i) null >= 0 ? (void)::dup2(null, i) : (void)::close(i);
  if (null > 2) ::close(null);
}

}  // namespace cloche::cli
