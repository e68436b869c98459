#include "sys/poller.h"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace cloche {

static_assert(POLLIN == EPOLLIN && POLLOUT == EPOLLOUT && POLLERR == EPOLLERR && POLLHUP == EPOLLHUP);

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
  if (!slot_->near) ::epoll_ctl(poller_->epoll_.get(), EPOLL_CTL_DEL, slot_->fd, nullptr);
  leave_to_close();
}

void Poller::Watch::leave_to_close() {
  if (!slot_) return;
  if (slot_->near) std::erase(poller_->near_, slot_.get());
  poller_->slots_.erase(slot_->id);
  slot_->events = 0;
  slot_->fd = -1;
  poller_->ended_.push_back(std::move(slot_));
}

void Poller::Watch::set_events(std::uint32_t events) {
  if (!slot_ || slot_->events == events) return;
  if (slot_->near) {
    slot_->events = events;
    return;
  }
  epoll_event event{};
  event.events = events;
  event.data.u64 = slot_->id;
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

Poller::Watch Poller::add(int fd, std::uint32_t events, bool near, Handler handler) {
  Watch watch;
  watch.poller_ = this;
  watch.slot_ = std::make_unique<Watch::Slot>(fd, events, near, ++last_id_, std::move(handler));
  if (near) {
    near_.push_back(watch.slot_.get());
  } else {
    slots_.emplace(last_id_, watch.slot_.get());
  }
  return watch;
}

Result<Poller::Watch> Poller::watch(int fd, std::uint32_t events, Handler handler) {
  Watch watch = add(fd, events, false, std::move(handler));
  epoll_event event{};
  event.events = events;
  event.data.u64 = watch.slot_->id;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    const int error = errno;
    watch.leave_to_close();
    return fail_errno(error, "epoll", "could not watch a descriptor");
  }
  if (events == 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, &event);
  return watch;
}

Result<Poller::Watch> Poller::watch_near(int fd, std::uint32_t events, Handler handler) {
  if (near_.size() >= kMostNear) return watch(fd, events, std::move(handler));
  return add(fd, events, true, std::move(handler));
}

// Whether any of the others is ready, too.
Result<bool> Poller::wait_near(int timeout) {
  std::array<pollfd, kMostNear + 1> asked{};
  std::array<Watch::Slot*, kMostNear> slots{};
  const std::size_t count = near_.size();
  for (std::size_t i = 0; i < count; ++i) {
    slots[i] = near_[i];
    const bool any = slots[i]->events != 0;
    asked[i] = {any ? slots[i]->fd : -1, static_cast<short>(slots[i]->events), 0};
  }
  asked[count] = {epoll_.get(), POLLIN, 0};
  const int n = ::poll(asked.data(), count + 1, timeout);
  if (n < 0) return errno == EINTR ? Result<bool>(false) : fail_errno(errno, "epoll", "could not wait for events");
  for (std::size_t i = 0; i < count; ++i) {
    if (asked[i].revents != 0 && slots[i]->fd >= 0) slots[i]->handler(static_cast<std::uint32_t>(asked[i].revents));
  }
  return asked[count].revents != 0;
}

Status Poller::wait(Clock::time_point deadline) {
  std::array<epoll_event, 128> events{};
  int timeout = -1;
  if (deadline != Clock::time_point::max()) {
    // Rounded up, or a deadline less than a millisecond away would spin.
    const auto left = std::chrono::ceil<Millis>(deadline - Clock::now()).count();
    timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
  }
  if (!near_.empty()) {
    CLOCHE_TRY_ASSIGN(const bool more, wait_near(timeout));
    if (!more) {
      ended_.clear();
      return {};
    }
    timeout = 0;
  }
  const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout);
  if (n < 0 && errno != EINTR) return fail_errno(errno, "epoll", "could not wait for events");
  for (int i = 0; i < n; ++i) {
    // A handler may end other watches of the same round.
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const std::uint64_t id = event.data.u64;  // by value: the structure is packed
    if (const auto slot = slots_.find(id); slot != slots_.end()) slot->second->handler(event.events);
  }
  ended_.clear();
  return {};
}

}  // namespace cloche
