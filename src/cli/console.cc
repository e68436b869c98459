#include "cli/console.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "base/units.h"
#include "report/text.h"

namespace cloche::cli {

bool put(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      // Somebody else may have made the shared descriptor non-blocking.
      pollfd p{fd, POLLOUT, 0};
      ::poll(&p, 1, -1);
      continue;
    }
    if (n < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

int complain(const Error& error, int exit_code) {
  put(STDERR_FILENO, fmt::format("cloche: {}\n", printable(error.text())));
  return exit_code;
}

int exit_code_of(const Error& error) {
  if (error.errno_value == ECANCELED) return kExitCancelled;
  return error.code == ErrorCode::kSystem || error.code == ErrorCode::kInternal ? kExitFailed : kExitRefused;
}

Result<Colour> choose_colour(std::string_view when, int fd) {
  if (when == "always") return Colour::kAlways;
  if (when == "never") return Colour::kNever;
  if (when != "auto") {
    return fail(ErrorCode::kInvalidInput, "--color", fmt::format("{} is not known", shown_text(when)),
                "choose auto, always or never");
  }
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && *no_colour != '\0') return Colour::kNever;
  const char* term = std::getenv("TERM");
  if (term != nullptr && std::string_view(term) == "dumb") return Colour::kNever;
  return ::isatty(fd) == 1 ? Colour::kAlways : Colour::kNever;
}

std::size_t columns_of(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return std::min<std::size_t>(size.ws_col, 160);
  return 100;
}

std::string own_program() {
  char path[PATH_MAX];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : std::string();
}

void fill_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) != -1) continue;
    // The lowest free number is the one that is missing.
    if (::open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd) ::_exit(kExitFailed);
  }
}

}  // namespace cloche::cli
