// Loop: the gateway's one thread. Descriptors come from the Poller; waiting coroutines and timers are kept here.
#pragma once

#include <array>
#include <coroutine>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "base/result.h"
#include "base/units.h"
#include "sys/poller.h"

namespace cloche::gateway {

class Loop;

inline constexpr Clock::time_point kNever = Clock::time_point::max();

// One coroutine that waits, for at most four things and a time. Lives in the coroutine's frame.
struct Waiter {
  std::coroutine_handle<> handle;
  std::array<Waiter**, 4> places{};  // where it is written down
  bool timed_out = false;
  bool has_timer = false;
  std::multimap<Clock::time_point, Waiter*>::iterator timer;
};

class Loop {
 public:
  static Result<std::unique_ptr<Loop>> make();

  Poller& poller() { return *poller_; }
  void stop() { stopped_ = true; }
  // What is done once everybody had a turn: waking the engine must not keep a connection from its first bytes. Says
  // when it wants to be called again at the latest.
  using Last = std::function<Clock::time_point()>;
  void set_last(Last last) { last_ = std::move(last); }
  Status run();

  // The waiter sleeps in these places until wake(), or until the deadline.
  void sleep(Waiter& waiter, Clock::time_point deadline);
  enum class Turn : std::uint8_t { kNext, kFirst };
  void wake(Waiter* waiter, Turn turn = Turn::kNext);  // nullptr: nobody waits

  // co_await loop.until(t)
  struct Pause {
    Loop& loop;
    Clock::time_point when;
    Waiter waiter{};
    bool await_ready() const { return when <= Clock::now(); }
    void await_suspend(std::coroutine_handle<> handle) {
      waiter.handle = handle;
      loop.sleep(waiter, when);
    }
    void await_resume() const {}
  };
  Pause until(Clock::time_point when) { return Pause{*this, when}; }

  // co_await loop.others(): lets everybody else go first.
  struct Others {
    Loop& loop;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> handle) { loop.ready_.push_back(handle); }
    void await_resume() const {}
  };
  Others others() { return Others{*this}; }

 private:
  std::unique_ptr<Poller> poller_;
  std::multimap<Clock::time_point, Waiter*> timers_;
  std::deque<std::coroutine_handle<>> ready_;
  Last last_;
  bool stopped_ = false;
};

// Somebody waits here until it is opened; for one waiter.
class Gate {
 public:
  explicit Gate(Loop& loop) : loop_(loop) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void open() {
    open_ = true;
    loop_.wake(waiting_);
  }
  struct Wait {
    Gate& gate;
    Clock::time_point deadline;
    Waiter waiter{};
    bool await_ready() const { return gate.open_; }
    void await_suspend(std::coroutine_handle<> handle) {
      waiter.handle = handle;
      waiter.places = {&gate.waiting_};
      gate.waiting_ = &waiter;
      gate.loop_.sleep(waiter, deadline);
    }
    bool await_resume() const { return gate.open_; }  // false: the time was over
  };
  Wait wait(Clock::time_point deadline) { return Wait{*this, deadline}; }

 private:
  Loop& loop_;
  Waiter* waiting_ = nullptr;
  bool open_ = false;
};

}  // namespace cloche::gateway
