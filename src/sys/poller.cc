#include "sys/poller.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace cloche {

Poller::Watch::Watch(Watch&& other) noexcept { *this = std::move(other); }

Poller::Watch& Poller::Watch::operator=(Watch&& other) noexcept {
  if (this != &other) {
    reset();
    poller_ = other.poller_;
    slot_ = std::move(other.slot_);
  }
  return *this;
}

void Poller::Watch::reset() {
  if (!slot_) return;
  ::epoll_ctl(poller_->epoll_.get(), EPOLL_CTL_DEL, slot_->fd, nullptr);
  leave_to_close();
}

void Poller::Watch::leave_to_close() {
  if (!slot_) return;
  slot_->events = 0;
  slot_->fd = -1;
  poller_->ended_.push_back(std::move(slot_));
}

void Poller::Watch::set_events(std::uint32_t events) {
  if (!slot_ || slot_->events == events) return;
  epoll_event event{};
  event.events = events;
  event.data.ptr = slot_.get();
  // Asked for nothing, epoll still reports a hang-up, again and again: so the descriptor is taken out meanwhile.
  const int operation = events == 0 ? EPOLL_CTL_DEL : slot_->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  slot_->events = events;
  ::epoll_ctl(poller_->epoll_.get(), operation, slot_->fd, &event);
}

Result<std::unique_ptr<Poller>> Poller::make() {
  auto out = std::make_unique<Poller>();
  int fd = ::epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) return fail_errno(errno, "epoll", "could not make the event loop");
  out->epoll_ = Fd(fd);
  return out;
}

Result<Poller::Watch> Poller::watch(int fd, std::uint32_t events, Handler handler) {
  Watch watch;
  watch.poller_ = this;
  watch.slot_ = std::make_unique<Watch::Slot>();
  watch.slot_->fd = fd;
  watch.slot_->events = events;
  watch.slot_->handler = std::move(handler);
  epoll_event event{};
  event.events = events;
  event.data.ptr = watch.slot_.get();
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    int error = errno;
    watch.slot_.reset();
    return fail_errno(error, "epoll", "could not watch a descriptor");
  }
  if (events == 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, &event);
  return watch;
}

Status Poller::wait(Clock::time_point deadline) {
  std::array<epoll_event, 128> events{};
  int timeout = -1;
  if (deadline != Clock::time_point::max()) {
    // Rounded up, or a deadline less than a millisecond away would spin.
    const auto left = std::chrono::ceil<Millis>(deadline - Clock::now()).count();
    timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
  }
  const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout);
  if (n < 0 && errno != EINTR) return fail_errno(errno, "epoll", "could not wait for events");
  for (int i = 0; i < n; ++i) {
    auto* slot = static_cast<Watch::Slot*>(events[static_cast<std::size_t>(i)].data.ptr);
    // A handler may end other watches of the same round; their slots live on in ended_.
    if (slot->fd >= 0) slot->handler(events[static_cast<std::size_t>(i)].events);
  }
  ended_.clear();
  return {};
}

}  // namespace cloche
