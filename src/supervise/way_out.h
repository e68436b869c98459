// WayOut: the engine's end of a run's gateway. Passes on what init opened in the cell, dials the host's sockets, keeps
// the record of what went out. The gateway parses what a hostile guest sends, so nothing it says is believed: it can
// fill the record of its own run, and end that run, and no more.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/units.h"
#include "egress/message.h"
#include "launch/gateway.h"
#include "plan/plan.h"
#include "report/network.h"
#include "supervise/network_record.h"
#include "sys/poller.h"

namespace cloche {

// What was made ready before the cell.
struct WayOutParts {
  Gateway gateway;
  std::vector<Fd> sockets;  // of the host, O_PATH, in the order of the plan
};

class WayOut {
 public:
  struct Events {
    std::function<void(const Connection&, bool opened)> on_connection;
    std::function<void(const Call&)> on_call;
    std::function<void(const GrantChange&)> on_change;
    std::function<void(const std::string& name)> on_limit;
    std::function<void(const Error&)> on_problem;  // the way out is closed
    std::function<void()> on_finished;
  };
  // Why not, or nothing.
  using Changed = std::function<void(const std::string& problem)>;
  enum class Turn : std::uint8_t { kGrant, kRevoke };

  WayOut(Poller& poller, WayOutParts parts, const Plan& plan, Events events);
  WayOut(const WayOut&) = delete;
  WayOut& operator=(const WayOut&) = delete;

  Status start();
  // One that init opened; it must be one that the plan has, and what it is said to be.
  Status add_listener(std::uint32_t kind, std::uint64_t which, Fd socket);
  // Before the guest starts: everything that the plan has must be there.
  Status serve();
  // `by`: who asked, for the record.
  Status change(Turn turn, const egress::Change& change, std::string by, Changed done);

  // The guest is gone: the last records are waited for.
  void finish(Clock::time_point now);
  bool finished() const { return finished_; }
  // Ends the gateway. What was recorded stays.
  void close();

  Clock::time_point next_deadline() const;
  void on_time(Clock::time_point now);

  const std::string& evidence() const { return parts_.gateway.evidence; }
  const egress::Limits& limits() const { return parts_.gateway.limits; }
  const NetworkUse& record() const { return record_.use(); }
  bool complete() const { return complete_; }  // the gateway lived to tell everything

 private:
  struct Listener {
    egress::ListenerKind kind{};
    std::uint64_t which = 0;
    bool there = false;
  };
  struct Asked {
    Turn turn{};
    egress::Change change;
    std::string by;
    Changed done;
    Clock::time_point at{};  // when
  };
  struct Outgoing {
    std::string bytes;
    Fd fd;
  };

  void on_event(std::uint32_t events);
  void handle(const egress::Framed& message);
  void note_connection(const egress::Framed& message);
  void note_call(const egress::Framed& message);
  void note_tally(const egress::Framed& message);
  void note_change(GrantChange::Turn turn, const egress::Change& change, std::string by, Clock::time_point at);
  void on_changed(const egress::Framed& message);
  void on_ended(const egress::Framed& message);
  void dial(const egress::Head& asked);
  void end_with(std::string message);
  void send(const egress::Head& head, std::string_view payload = {}, Fd fd = {});
  void flush();
  void settle();

  Poller& poller_;
  WayOutParts parts_;
  Events events_;
  std::vector<Listener> expected_;
  std::deque<Outgoing> queue_;
  std::map<std::uint64_t, Asked> changes_;
  std::uint64_t serial_ = 0;
  NetworkRecord record_;
  std::vector<Connection> open_;
  Clock::time_point served_ = Clock::now();
  Clock::time_point last_change_{};
  Poller::Watch watch_;
  std::string buffer_;
  std::size_t taken_ = 0;  // messages since `window_`
  Clock::time_point window_{};
  Clock::time_point resume_ = Clock::time_point::max();
  Clock::time_point give_up_ = Clock::time_point::max();
  bool finishing_ = false;
  bool finished_ = false;
  bool complete_ = false;
};

}  // namespace cloche
