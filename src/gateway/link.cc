#include "gateway/link.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "sys/channel.h"

namespace cloche::gateway {

Result<std::unique_ptr<Link>> Link::make(Loop& loop, int socket, Handler handler, std::function<void()> on_end) {
  auto link = std::make_unique<Link>();
  link->socket_ = socket;
  link->handler_ = std::move(handler);
  link->on_end_ = std::move(on_end);
  CLOCHE_TRY(sys::set_nonblocking(socket));
  Link* raw = link.get();
  loop.set_last([raw] { return raw->write_in_time(); });
  CLOCHE_TRY_ASSIGN(link->watch_, loop.poller().watch(socket, EPOLLIN, [raw](std::uint32_t e) { raw->on_events(e); }));
  return link;
}

void Link::send(const egress::Head& head, std::string_view payload) {
  if (head.kind != egress::Kind::kConnection && head.kind != egress::Kind::kCall) hurry_ = true;
  queue_.push_back(egress::frame(head, payload));
}

Clock::time_point Link::write_in_time() {
  if (queue_.empty()) return kNever;
  if (!hurry_ && !blocked_ && queue_.size() < kManyRecords) {
    const Clock::time_point now = Clock::now();
    if (latest_ == kNever) latest_ = now + kForOthers;
    if (now < latest_) return latest_;
  }
  write_all();
  return kNever;  // what the socket did not take waits for the socket
}

void Link::write_all() {
  hurry_ = false;
  latest_ = kNever;
  while (!queue_.empty()) {
    const std::string& front = queue_.front();
    if (::send(socket_, front.data(), front.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
      if (errno == EINTR) continue;
      break;  // a socket that is gone is seen by reading
    }
    queue_.pop_front();
  }
  blocked_ = !queue_.empty();
  watch_.set_events(blocked_ ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void Link::read_all() {
  std::string bytes(sizeof(egress::Head) + egress::kMaxPayload, '\0');
  for (;;) {
    auto received = sys::receive_bytes(socket_, bytes.data(), bytes.size());
    if (!received || (*received && (*received)->size == 0)) {
      watch_.reset();
      on_end_();
      return;
    }
    if (!*received) return;
    const auto message = egress::unframe(std::string_view(bytes).substr(0, (*received)->size));
    if (message) handler_(*message, std::move((*received)->fd));
  }
}

void Link::on_events(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) write_all();
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_all();
}

}  // namespace cloche::gateway
