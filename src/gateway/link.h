// Link: the control socket to the engine. What is to be sent waits until the loop has nothing else to do; records wait
// a little longer, for others to come along: each time the engine wakes it takes a processor from the guest.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "egress/message.h"
#include "gateway/loop.h"
#include "sys/poller.h"

namespace cloche::gateway {

class Link {
 public:
  using Handler = std::function<void(const egress::Framed& message, Fd fd)>;

  static Result<std::unique_ptr<Link>> make(Loop& loop, int socket, Handler handler, std::function<void()> on_end);

  void send(const egress::Head& head, std::string_view payload = {});
  // The engine reads slower than things happen: nothing new should begin.
  bool is_behind() const { return queue_.size() > kFarBehind; }
  bool is_empty() const { return queue_.empty(); }

 private:
  static constexpr std::size_t kFarBehind = 512;
  static constexpr std::size_t kManyRecords = 64;
  static constexpr Millis kForOthers{10};

  void on_events(std::uint32_t events);
  void read_all();
  Clock::time_point write_in_time();  // when it is to be called again
  void write_all();

  int socket_ = -1;
  Handler handler_;
  std::function<void()> on_end_;
  std::deque<std::string> queue_;
  bool hurry_ = false;                 // there is more than records in the queue
  Clock::time_point latest_ = kNever;  // when the oldest record has waited long enough
  bool blocked_ = false;               // the socket took no more
  Poller::Watch watch_;
};

}  // namespace cloche::gateway
