#include "cli/terminal.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace cloche::cli {
namespace {

Result<Fd> as_descriptor(const sigset_t& set) {
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return fail_errno(errno, "signals", "could not be blocked");
  Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return fail_errno(errno, "signals", "could not be made a descriptor");
  return fd;
}

}  // namespace

Result<RawTerminal> RawTerminal::enter(int fd) {
  termios before{};
  if (::tcgetattr(fd, &before) != 0) return fail_errno(errno, "terminal", "its mode could not be read");
  termios raw = before;
  ::cfmakeraw(&raw);
  if (::tcsetattr(fd, TCSADRAIN, &raw) != 0) return fail_errno(errno, "terminal", "its mode could not be set");
  return RawTerminal(fd, before);
}

RawTerminal::RawTerminal(RawTerminal&& other) noexcept : fd_(std::exchange(other.fd_, -1)), before_(other.before_) {}

RawTerminal::~RawTerminal() {
  if (fd_ >= 0) ::tcsetattr(fd_, TCSADRAIN, &before_);
}

Result<Fd> cancel_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now{};
    // A blocked signal is queued even while it is ignored, so it must not be in the set at all.
    if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) continue;
    ::sigaddset(&set, number);
  }
  return as_descriptor(set);
}

Result<Fd> resize_signal() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGWINCH);
  return as_descriptor(set);
}

bool has_come(const Fd& signals) {
  pollfd wait{signals.get(), POLLIN, 0};
  return ::poll(&wait, 1, 0) > 0;
}

void ignore_broken_pipes() {
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, nullptr);
}

}  // namespace cloche::cli
