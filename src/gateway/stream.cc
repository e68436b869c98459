#include "gateway/stream.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace cloche::gateway {
namespace {
// A peer that is always ready must not keep the loop from the others, and from the engine.
constexpr unsigned kTurns = 16;
constexpr std::uint32_t kToRead = EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLET;
}  // namespace

Result<std::unique_ptr<Stream>> Stream::make(Loop& loop, Fd fd, Sort sort) {
  std::unique_ptr<Stream> stream(new Stream(loop, std::move(fd), sort));
  Stream* raw = stream.get();
  CLOCHE_TRY_ASSIGN(stream->watch_, loop.poller().watch(raw->fd(), kToRead, [raw](std::uint32_t events) {
    const bool ended = (events & (EPOLLERR | EPOLLHUP)) != 0;
    if (ended || (events & (EPOLLPRI | EPOLLRDHUP)) != 0) raw->ends_or_stops_ = true;
    if (ended || (events & (EPOLLIN | EPOLLPRI | EPOLLRDHUP)) != 0) {
      raw->readable_ = true;
      raw->loop_.wake(raw->reader_, raw->turn_);
    }
    if (ended || (events & EPOLLOUT) != 0) {
      raw->writable_ = true;
      raw->loop_.wake(raw->writer_);
    }
  }));
  return stream;
}

Stream::~Stream() {
  if (sort_ == Sort::kOwnTcp) watch_.leave_to_close();
}

// Asking anew makes the kernel look at once: room that came meanwhile is not missed.
void Stream::not_writable() {
  writable_ = false;
  watch_.set_events(kToRead | EPOLLOUT);
}

// An address of no family takes a TCP connection apart: the other side hears of it at once, and by a reset. An orderly
// end would tell it that what came is whole.
void Stream::cut() {
  sockaddr none{};
  none.sa_family = AF_UNSPEC;
  if (sort_ != Sort::kOwnTcp || ::connect(fd(), &none, sizeof none) != 0) ::shutdown(fd(), SHUT_RDWR);
  readable_ = writable_ = true;
  loop_.wake(reader_);
  loop_.wake(writer_);
}

bool Stream::has_arrived() const {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (sort_ != Sort::kOwnTcp || ::getsockopt(fd(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return true;
  constexpr int kClosed = 7;  // TCP_CLOSE, in a header that cannot be had together with this one
  return info.tcpi_state == kClosed || (info.tcpi_unacked == 0 && info.tcpi_notsent_bytes == 0);
}

void Stream::reset_on_close() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

void Stream::expect_much() const {
  constexpr int kBytes = 512 * 1024;  // the kernel doubles it, for what it needs itself
  if (end_ != End::kFar) ::setsockopt(fd(), SOL_SOCKET, SO_SNDBUF, &kBytes, sizeof kBytes);
}

void Stream::end_of_writing() { ::shutdown(fd(), SHUT_WR); }

void Stream::acknowledge() const {
  const int on = 1;
  ::setsockopt(fd(), IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
}

Task<std::int64_t> Stream::read_some(char* to, std::size_t size, Clock::time_point deadline) {
  for (;;) {
    const bool in_time = co_await readable(deadline);
    if (!in_time) co_return -ETIMEDOUT;
    const ssize_t n = ::recv(fd(), to, size, 0);
    if (n >= 0) {
      if (n > 0 && static_cast<std::size_t>(n) < size) drained();
      if (++unbroken_ % kTurns == 0) co_await loop_.others();
      co_return n;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) co_return -errno;
    readable_ = false;
  }
}

Task<int> Stream::write_all(std::string_view bytes, Clock::time_point deadline) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
      if (++unbroken_ % kTurns == 0) co_await loop_.others();
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) co_return errno;
    not_writable();
    const bool in_time = co_await writable(deadline);
    if (!in_time) co_return ETIMEDOUT;
  }
  co_return 0;
}

}  // namespace cloche::gateway
