#include "gateway/loop.h"

#include <algorithm>
#include <utility>

namespace cloche::gateway {

Result<std::unique_ptr<Loop>> Loop::make() {
  auto loop = std::make_unique<Loop>();
  CLOCHE_TRY_ASSIGN(loop->poller_, Poller::make());
  return loop;
}

void Loop::sleep(Waiter& waiter, Clock::time_point deadline) {
  waiter.timed_out = false;
  if (deadline == kNever) return;
  waiter.timer = timers_.emplace(deadline, &waiter);
  waiter.has_timer = true;
}

void Loop::wake(Waiter* waiter, Turn turn) {
  if (waiter == nullptr) return;
  if (std::exchange(waiter->has_timer, false)) timers_.erase(waiter->timer);
  for (Waiter**& place : waiter->places) {
    if (place != nullptr && *place == waiter) *place = nullptr;
    place = nullptr;
  }
  if (turn == Turn::kFirst) {
    ready_.push_front(waiter->handle);
  } else {
    ready_.push_back(waiter->handle);
  }
}

Status Loop::run() {
  while (!stopped_) {
    // Only those that are ready now: who makes itself ready again waits for the descriptors of the others.
    for (std::size_t left = ready_.size(); left > 0 && !stopped_; --left) {
      const std::coroutine_handle<> next = ready_.front();
      ready_.pop_front();
      next.resume();
    }
    const Clock::time_point last_again = last_ ? last_() : kNever;
    if (stopped_) break;
    Clock::time_point next_timer = timers_.empty() ? last_again : std::min(timers_.begin()->first, last_again);
    if (!ready_.empty()) next_timer = Clock::time_point{};  // long past
    CLOCHE_TRY(poller_->wait(next_timer));
    const Clock::time_point now = Clock::now();
    while (!timers_.empty() && timers_.begin()->first <= now) {
      Waiter* waiter = timers_.begin()->second;
      waiter->timed_out = true;
      wake(waiter);
    }
  }
  return {};
}

}  // namespace cloche::gateway
