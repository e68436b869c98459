#include "keeper/attendance.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "keeper/starter.h"

namespace cloche::keeper {
namespace {

constexpr long kPidfdOpen = 434;
constexpr std::chrono::seconds kSoon{5};
constexpr std::chrono::milliseconds kAgainAfter{100};
constexpr unsigned kMostDoublings = 9;

}  // namespace

void Attendance::try_later() {
  next_ = Clock::now() + kAgainAfter * (1U << std::min(in_vain_, kMostDoublings));
  ++in_vain_;
}

void Attendance::on_end() {
  ::waitpid(pid_, nullptr, WNOHANG);
  running_ = false;
  pidfd_.reset();
  watch_.reset();
  if (Clock::now() - begun_ > kSoon) in_vain_ = 0;
  try_later();
}

void Attendance::wait_for_end() {
  if (!running_ || !pidfd_.valid()) return;
  pollfd ended{pidfd_.get(), POLLIN, 0};
  constexpr int kMillis = 200;
  if (::poll(&ended, 1, kMillis) > 0) on_end();
}

std::optional<Fd> Attendance::begin(Poller& poller) {
  if (running_ || Clock::now() < next_) return std::nullopt;
  auto started = start_attendant(program_, directory_);
  if (!started) {
    try_later();
    return std::nullopt;
  }
  begun_ = Clock::now();
  pid_ = started->pid;
  running_ = true;
  // Our child, which nobody else reaps: the number is its own.
  pidfd_ = Fd(static_cast<int>(::syscall(kPidfdOpen, pid_, 0)));
  if (pidfd_.valid()) {
    if (auto watch = poller.watch(pidfd_.get(), EPOLLIN, [this](auto) { on_end(); })) watch_ = std::move(*watch);
  }
  return std::move(started->socket);
}

}  // namespace cloche::keeper
