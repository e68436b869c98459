// Stream: one non-blocking socket in the loop. Edge-triggered: what the kernel said is remembered until a call says
// EAGAIN, or a read brought less than it asked for, so that a busy connection costs no call of epoll. Room to write is
// asked for from the first time there was none: most connections never fill their buffers, and each word of room would
// wake the loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "gateway/loop.h"
#include "gateway/task.h"
#include "sys/poller.h"

namespace cloche::gateway {

class Stream {
 public:
  // kOwnTcp: a TCP connection that this process made or took itself. No other process has a copy of the descriptor, and
  // a read that brings less than it asked for has brought all there is.
  enum class Sort : std::uint8_t { kOther, kOwnTcp };

  bool may_have_copies() const { return sort_ != Sort::kOwnTcp; }
  static Result<std::unique_ptr<Stream>> make(Loop& loop, Fd fd, Sort sort = Sort::kOther);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();

  int fd() const { return fd_.get(); }
  void acknowledge() const;  // what has arrived, now
  bool is_readable() const { return readable_; }
  bool is_writable() const { return writable_; }
  void not_readable() { readable_ = false; }
  // After a read that brought less than there was room for. The end may be behind it, or a mark of urgent bytes, at
  // which a read stops.
  void drained() { readable_ = sort_ != Sort::kOwnTcp || ends_or_stops_; }
  bool ends_or_stops() const { return ends_or_stops_; }
  void not_writable();
  // Whoever waits for something to read goes before all others.
  void put_first() { turn_ = Loop::Turn::kFirst; }
  // Ends both directions now, with a reset where there is such a thing; whoever waits is woken and sees it.
  void cut();
  // The other side gets a reset instead of an orderly end.
  void reset_on_close();
  // Of what was written, nothing is on its way any more.
  bool has_arrived() const;
  void end_of_writing();
  // Where the other end is: on another machine, on this one, or in the cell.
  enum class End : std::uint8_t { kFar, kNear, kGuest };
  void set_end(End end) { end_ = end; }
  // From here on much goes this way. To an end on this machine at most a megabyte waits in the kernel: enough for both
  // ends to be busy, and more would be out of the cpu's cache when it is read. Between machines the kernel knows
  // better.
  void expect_much() const;
  // The most that is written at once. The cell's network would make one segment of half a megabyte of it, and the guest
  // would wait for the whole of it before it has something to read.
  std::size_t piece() const { return end_ == End::kGuest ? kGuestPiece : SIZE_MAX; }

  struct Wait {
    Loop& loop;
    const bool& flag;
    Waiter*& place;
    Clock::time_point deadline;
    Waiter waiter{};
    bool await_ready() const { return flag; }
    void await_suspend(std::coroutine_handle<> handle) {
      waiter.handle = handle;
      waiter.places = {&place};
      place = &waiter;
      loop.sleep(waiter, deadline);
    }
    bool await_resume() const { return !waiter.timed_out; }
  };
  Wait readable(Clock::time_point deadline = kNever) { return Wait{loop_, readable_, reader_, deadline}; }
  Wait writable(Clock::time_point deadline = kNever) { return Wait{loop_, writable_, writer_, deadline}; }

  // Waits until one of two can be read.
  struct Either {
    Stream& first;
    Stream& second;
    Clock::time_point deadline;
    Waiter waiter{};
    bool await_ready() const { return first.readable_ || second.readable_; }
    void await_suspend(std::coroutine_handle<> handle) {
      waiter.handle = handle;
      waiter.places = {&first.reader_, &second.reader_};
      first.reader_ = second.reader_ = &waiter;
      first.loop_.sleep(waiter, deadline);
    }
    bool await_resume() const { return !waiter.timed_out; }
  };
  static Either either(Stream& first, Stream& second, Clock::time_point deadline) {
    return Either{first, second, deadline};
  }

  // Waits until the kernel has news of either: for who has tried everything and could do nothing.
  struct News {
    Stream& first;
    Stream& second;
    Clock::time_point deadline;
    Waiter waiter{};
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
      waiter.handle = handle;
      waiter.places = {&first.reader_, &first.writer_, &second.reader_, &second.writer_};
      first.reader_ = first.writer_ = second.reader_ = second.writer_ = &waiter;
      first.loop_.sleep(waiter, deadline);
    }
    bool await_resume() const { return !waiter.timed_out; }
  };
  static News news(Stream& first, Stream& second, Clock::time_point deadline = kNever) {
    return News{first, second, deadline};
  }

  // Bytes, 0 at the end, or a negative errno (-ETIMEDOUT).
  Task<std::int64_t> read_some(char* to, std::size_t size, Clock::time_point deadline = kNever);
  // 0 or an errno.
  Task<int> write_all(std::string_view bytes, Clock::time_point deadline = kNever);

 private:
  static constexpr std::size_t kGuestPiece = 64 * 1024;

  Stream(Loop& loop, Fd fd, Sort sort) : loop_(loop), fd_(std::move(fd)), sort_(sort) {}

  Loop& loop_;
  Fd fd_;
  Sort sort_;
  End end_ = End::kFar;
  Loop::Turn turn_ = Loop::Turn::kNext;
  bool readable_ = true;
  bool writable_ = true;
  bool ends_or_stops_ = false;
  unsigned unbroken_ = 0;  // reads and writes that did not have to wait
  Waiter* reader_ = nullptr;
  Waiter* writer_ = nullptr;
  Poller::Watch watch_;  // last: goes before the descriptor
};

}  // namespace cloche::gateway
