// Pump: moves one guest stream to its sink without ever blocking and without ever holding more than one buffer. While
// the sink is full, the guest's end is left unread, so that the guest waits and memory does not grow.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "sys/poller.h"

namespace cloche {

class OutputPump {
 public:
  struct Sink {
    int fd = -1;                                     // borrowed; -1: none
    std::function<void(std::string_view)> callback;  // must not block; may be empty
  };
  // Called with every chunk before it is forwarded; returns how much of it may pass (the rest of the stream is cut).
  using Meter = std::function<std::size_t(std::string_view)>;

  OutputPump(Poller& poller, Fd source, Sink sink, Meter meter, std::function<void()> on_end);

  Status start();
  // The guest is gone: takes what is still in the pipe, and no more than fits one, then the source is closed. Somebody
  // who outlived the guest, as can happen on tier 0, may hold it open, or write on and on.
  void drain();
  void stop();
  // Why output did not reach its sink: an errno, or 0.
  int lost() const { return lost_; }
  bool source_open() const { return source_.valid(); }
  // Everything that was taken has reached the sink.
  bool flushed() const { return pending_.empty(); }

 private:
  void read_some();
  void drain_some();
  void flush();
  void arm();
  void end_source();

  Poller& poller_;
  Fd source_;
  Sink sink_;
  int lost_ = 0;
  Meter meter_;
  std::function<void()> on_end_;
  Poller::Watch source_watch_;
  Poller::Watch sink_watch_;
  bool sink_is_file_ = false;
  std::string pending_;
  std::optional<std::size_t> left_;  // while draining: bytes that are still taken
};

// The other direction: the caller's stdin to the guest's.
class InputPump {
 public:
  InputPump(Poller& poller, int source, Fd target);
  // The terminal's master is shared with the output side, so it is borrowed.
  InputPump(Poller& poller, int source, int borrowed_target);
  Status start();
  void stop();

 private:
  void move_some();
  void arm();

  Poller& poller_;
  int source_;
  Fd owned_target_;
  int target_;
  bool source_is_file_ = false;
  bool ended_ = false;
  std::string pending_;
  Poller::Watch source_watch_;
  Poller::Watch target_watch_;
};

}  // namespace cloche
