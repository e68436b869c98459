#include "cli/borrowed_stance.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

extern "C" char** environ;

namespace cloche::cli {

std::optional<std::vector<char*>> point_at(std::span<char> strings, std::size_t count) {
  std::vector<char*> out;
  if (count > strings.size()) return std::nullopt;
  out.reserve(count + 1);
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto end = std::ranges::find(strings.subspan(at), '\0');
    if (end == strings.end()) return std::nullopt;
    out.push_back(strings.data() + at);
    at = static_cast<std::size_t>(end - strings.begin()) + 1;
  }
  if (at != strings.size()) return std::nullopt;
  return out;
}

void leave_streams() {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  // Whoever reads the caller's streams would wait for their end, and the next one's would get their numbers.
  if (null < 0) ::_exit(1);
  for (int i = 0; i < 3; ++i) ::dup2(null, i);
  ::close(null);
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
  leave_streams();
}

}  // namespace cloche::cli
