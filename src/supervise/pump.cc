#include "supervise/pump.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace cloche {
namespace {

constexpr std::size_t kChunk = 64 * 1024;
// What poll() promises to accept without blocking on a pipe.
constexpr std::size_t kSafeWrite = 4096;

bool writable_now(int fd) {
  pollfd p{fd, POLLOUT, 0};
  return ::poll(&p, 1, 0) == 1 && (p.revents & (POLLOUT | POLLERR | POLLHUP)) != 0;
}

}  // namespace

OutputPump::OutputPump(Poller& poller, Fd source, Sink sink, Meter meter, std::function<void()> on_end)
    : poller_(poller),
      source_(std::move(source)),
      sink_(std::move(sink)),
      meter_(std::move(meter)),
      on_end_(std::move(on_end)) {}

Status OutputPump::start() {
  CLOCHE_TRY_ASSIGN(source_watch_, poller_.watch(source_.get(), EPOLLIN, [this](std::uint32_t) { read_some(); }));
  if (sink_.fd >= 0) {
    // The caller's descriptor stays blocking: its flags are shared with other processes. So it is written in pieces
    // that a ready pipe takes without blocking.
    auto watch = poller_.watch(sink_.fd, 0, [this](std::uint32_t) {
      flush();
      if (left_) drain_some();
      arm();
      if (!source_.valid() && pending_.empty() && on_end_) on_end_();
    });
    if (watch) {
      sink_watch_ = std::move(*watch);
    } else if (watch.error().errno_value == EPERM) {
      sink_is_file_ = true;
    } else {
      return std::unexpected(watch.error());  // without room in epoll: writing without a look could block for ever
    }
  }
  return {};
}

void OutputPump::end_source() {
  source_watch_.reset();
  source_.reset();
  if (on_end_) on_end_();
}

void OutputPump::read_some() {
  if (!source_.valid() || !pending_.empty()) return;
  static thread_local char buffer[kChunk];
  const ssize_t n = ::read(source_.get(), buffer, std::min(sizeof buffer, left_.value_or(sizeof buffer)));
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {  // EIO is a terminal's way of saying that its last user is gone
    end_source();
    return;
  }
  std::string_view chunk(buffer, static_cast<std::size_t>(n));
  if (left_) *left_ -= chunk.size();
  chunk = chunk.substr(0, meter_(chunk));
  if (chunk.empty()) return;
  if (sink_.callback) sink_.callback(chunk);
  if (sink_.fd >= 0) {
    pending_.assign(chunk);
    flush();
    arm();
  }
}

void OutputPump::flush() {
  while (!pending_.empty()) {
    if (!sink_is_file_ && !writable_now(sink_.fd)) return;
    const std::size_t size = sink_is_file_ ? pending_.size() : std::min(pending_.size(), kSafeWrite);
    const ssize_t n = ::write(sink_.fd, pending_.data(), size);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n < 0) {
      // Nobody reads any more: the guest learns of it as it would without us. A full disk it could not learn of.
      if (errno != EPIPE) lost_ = errno;
      pending_.clear();
      sink_watch_.reset();
      sink_.fd = -1;
      if (source_.valid()) end_source();
      return;
    }
    pending_.erase(0, static_cast<std::size_t>(n));
  }
}

void OutputPump::arm() {
  const bool full = !pending_.empty();
  if (source_watch_.active()) source_watch_.set_events(full ? 0u : static_cast<std::uint32_t>(EPOLLIN));
  if (sink_watch_.active()) sink_watch_.set_events(full ? static_cast<std::uint32_t>(EPOLLOUT) : 0u);
}

void OutputPump::drain() {
  const int capacity = source_.valid() ? ::fcntl(source_.get(), F_GETPIPE_SZ) : -1;
  left_ = capacity > 0 ? static_cast<std::size_t>(capacity) : kChunk;  // a terminal holds less than a chunk
  drain_some();
}

// Each turn takes what the sink accepts; the sink's own events bring the next.
void OutputPump::drain_some() {
  while (source_.valid() && pending_.empty()) {
    pollfd p{source_.get(), POLLIN, 0};
    if (*left_ == 0 || ::poll(&p, 1, 0) != 1) {
      end_source();
      return;
    }
    read_some();
  }
}

void OutputPump::stop() {
  source_watch_.reset();
  sink_watch_.reset();
  source_.reset();
  pending_.clear();
}

InputPump::InputPump(Poller& poller, int source, Fd target)
    : poller_(poller), source_(source), owned_target_(std::move(target)), target_(owned_target_.get()) {}

InputPump::InputPump(Poller& poller, int source, int borrowed_target)
    : poller_(poller), source_(source), target_(borrowed_target) {}

Status InputPump::start() {
  auto watch = poller_.watch(source_, EPOLLIN, [this](std::uint32_t) { move_some(); });
  if (watch) {
    source_watch_ = std::move(*watch);
  } else if (watch.error().errno_value == EPERM) {
    source_is_file_ = true;
  } else {
    return std::unexpected(watch.error());  // a terminal taken for a file would be waited for
  }
  CLOCHE_TRY_ASSIGN(target_watch_, poller_.watch(target_, source_is_file_ ? static_cast<std::uint32_t>(EPOLLOUT) : 0u,
                                                 [this](std::uint32_t) { move_some(); }));
  return {};
}

void InputPump::move_some() {
  if (ended_) return;
  if (pending_.empty()) {
    static thread_local char buffer[kChunk];
    const ssize_t n = ::read(source_, buffer, sizeof buffer);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
      stop();  // closing the guest's end is how it learns that there is no more
      return;
    }
    pending_.assign(buffer, static_cast<std::size_t>(n));
  }
  const ssize_t n = ::write(target_, pending_.data(), pending_.size());
  if (n < 0 && errno != EAGAIN && errno != EINTR) {
    stop();
    return;
  }
  if (n > 0) pending_.erase(0, static_cast<std::size_t>(n));
  arm();
}

void InputPump::arm() {
  const bool full = !pending_.empty();
  if (source_watch_.active()) source_watch_.set_events(full ? 0u : static_cast<std::uint32_t>(EPOLLIN));
  target_watch_.set_events(full || source_is_file_ ? static_cast<std::uint32_t>(EPOLLOUT) : 0u);
}

void InputPump::stop() {
  ended_ = true;
  source_watch_.reset();
  target_watch_.reset();
  owned_target_.reset();
}

}  // namespace cloche
