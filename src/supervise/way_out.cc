#include "supervise/way_out.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "report/text.h"
#include "supervise/way_out_sockets.h"
#include "sys/channel.h"

namespace cloche {
namespace {

using egress::Kind;
using egress::ListenerKind;

constexpr Millis kLastWords{2'000};
constexpr std::size_t kAtOnce = 64;  // messages in one turn of the loop, which other runs share
// A gateway that says more than this waits: its socket fills, and then its guest's connections.
constexpr std::size_t kInWindow = 2'000;
constexpr Millis kWindow{100};
constexpr std::size_t kMaxQueue = 4'096;
constexpr std::size_t kMaxChanges = 256;
constexpr std::size_t kMaxSentence = 300;
constexpr std::size_t kMaxOpen = 4'096;  // that are remembered until they end

}  // namespace

WayOut::WayOut(Poller& poller, WayOutParts parts, const Plan& plan, Events events)
    : poller_(poller), parts_(std::move(parts)), events_(std::move(events)) {
  for (const Step& step : plan.steps) {
    if (step.kind == wire::StepKind::kListen) expected_.push_back({static_cast<ListenerKind>(step.x), step.y});
    if (step.kind == wire::StepKind::kPackets) expected_.push_back({ListenerKind::kPackets, 0});
    if (step.kind == wire::StepKind::kListenUnix) expected_.push_back({ListenerKind::kUnix, step.y});
  }
  buffer_.resize(sizeof(egress::Head) + egress::kMaxPayload + 1);
}

Status WayOut::start() {
  CLOCHE_TRY_ASSIGN(watch_, poller_.watch(parts_.gateway.process.control.get(), EPOLLIN,
                                          [this](std::uint32_t events) { on_event(events); }));
  return {};
}

Status WayOut::add_listener(std::uint32_t kind, std::uint64_t which, Fd socket) {
  const auto wanted = std::ranges::find_if(expected_, [&](const Listener& one) {
    return !one.there && static_cast<std::uint32_t>(one.kind) == kind && one.which == which;
  });
  if (wanted == expected_.end())
    return fail(ErrorCode::kInternal, "gateway", "init opened what the plan does not have");
  CLOCHE_TRY(check_listener(wanted->kind, which, socket.get()));
  wanted->there = true;
  send({.kind = Kind::kListener, .what = kind, .number = static_cast<std::uint32_t>(which)}, {}, std::move(socket));
  return {};
}

Status WayOut::serve() {
  if (finished_) return fail(ErrorCode::kSystem, "gateway", "the gateway ended before the guest began");
  if (!std::ranges::all_of(expected_, &Listener::there)) {
    return fail(ErrorCode::kInternal, "gateway", "init did not open all that the plan has");
  }
  served_ = Clock::now();
  send({.kind = Kind::kServe}, egress::encode(served_));
  return {};
}

Status WayOut::change(Turn turn, const egress::Change& change, std::string by, Changed done) {
  if (finishing_ || finished_) return fail(ErrorCode::kNotFound, "gateway", "the run is over");
  if (changes_.size() >= kMaxChanges) {
    return fail(ErrorCode::kRefused, "gateway", "too many changes wait for an answer", "try again in a moment");
  }
  const std::uint64_t serial = ++serial_;
  changes_.emplace(serial, Asked{turn, change, std::move(by), std::move(done), Clock::now()});
  send({.kind = turn == Turn::kGrant ? Kind::kGrant : Kind::kRevoke, .serial = serial}, encode(change));
  return {};
}

void WayOut::finish(Clock::time_point now) {
  if (finishing_ || finished_) return;
  finishing_ = true;
  give_up_ = now + kLastWords;
  // Whatever it holds back by then is waited for, without a pause.
  if (std::exchange(resume_, Clock::time_point::max()) != Clock::time_point::max()) watch_.set_events(EPOLLIN);
  send({.kind = Kind::kFinish});
}

void WayOut::close() {
  finished_ = true;
  give_up_ = resume_ = Clock::time_point::max();
  watch_.reset();
  queue_.clear();
  parts_.gateway.process = {};
  parts_.sockets.clear();
  // What it had open, and told no end of, ended with it.
  for (Connection& connection : std::exchange(open_, {})) {
    connection.reason += "; ended with the gateway";
    record_.add(connection);
  }
  for (auto& [serial, asked] : std::exchange(changes_, {})) {
    if (asked.done) asked.done("the run is over");
  }
}

Clock::time_point WayOut::next_deadline() const { return std::min(resume_, give_up_); }

void WayOut::on_time(Clock::time_point now) {
  if (now >= resume_) {
    resume_ = Clock::time_point::max();
    watch_.set_events(queue_.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT);
  }
  if (now >= give_up_) settle();
}

void WayOut::settle() {
  if (finished_) return;
  close();
  if (events_.on_finished) events_.on_finished();
}

void WayOut::end_with(std::string message) {
  if (finished_) return;
  const bool wanted = finishing_;
  close();
  if (!wanted && events_.on_problem) {
    events_.on_problem(
        {ErrorCode::kSystem, "gateway", 0, std::move(message), "please report this as a defect of cloche"});
  }
  if (events_.on_finished) events_.on_finished();
}

void WayOut::on_event(std::uint32_t events) {
  if (finished_) return;
  if ((events & EPOLLOUT) != 0) flush();
  for (std::size_t i = 0; i < kAtOnce && !finished_; ++i) {
    const auto now = Clock::now();
    if (now - window_ >= kWindow) {
      window_ = now;
      taken_ = 0;
    }
    if (!finishing_ && ++taken_ > kInWindow) {
      watch_.set_events(0);
      resume_ = window_ + kWindow;
      return;
    }
    auto received = sys::receive_bytes(parts_.gateway.process.control.get(), buffer_.data(), buffer_.size());
    if (!received) return end_with("the gateway could not be heard");
    if (!*received) return;
    if ((*received)->size == 0) return end_with("the gateway ended before the run did");
    // It has nothing to hand to us: what comes along is closed here.
    const auto message = egress::unframe(std::string_view(buffer_).substr(0, (*received)->size));
    if (!message) return end_with("the gateway says what cannot be understood");
    handle(*message);
  }
}

void WayOut::handle(const egress::Framed& message) {
  switch (message.head.kind) {
    case Kind::kConnection:
      return note_connection(message);
    case Kind::kCall:
      return note_call(message);
    case Kind::kDial:
      return dial(message.head);
    case Kind::kLimit:
      if (std::ranges::find(kNetworkLimits, message.payload) == kNetworkLimits.end())
        return end_with("the gateway names a limit that there is not");
      if (events_.on_limit) events_.on_limit(std::string(message.payload));
      return;
    case Kind::kChanged:
      return on_changed(message);
    case Kind::kEnded:
      return on_ended(message);
    case Kind::kTally:
      return note_tally(message);
    case Kind::kFinished:
      if (!finishing_) return end_with("the gateway ended before the run did");
      complete_ = true;
      return settle();
    case Kind::kProblem:
      return end_with("the gateway cannot go on: " + printable(message.payload.substr(0, kMaxSentence)));
    default:
      return end_with("the gateway says what only the engine may");
  }
}

void WayOut::note_connection(const egress::Framed& message) {
  const auto connection = egress::decode_connection(message.payload);
  if (!connection) return end_with("the gateway's record of a connection cannot be read");
  const bool opened = message.head.what == 1;
  if (opened) {
    if (open_.size() < kMaxOpen) open_.push_back(*connection);
  } else {
    // The same one again, with more to say.
    const auto same = [&](const Connection& one) {
      return one.at == connection->at && one.via == connection->via && one.port == connection->port;
    };
    if (const auto known = std::ranges::find_if(open_, same); known != open_.end()) open_.erase(known);
    record_.add(*connection);
  }
  if (events_.on_connection) events_.on_connection(*connection, opened);
}

void WayOut::note_call(const egress::Framed& message) {
  const auto call = egress::decode_call(message.payload);
  if (!call) return end_with("the gateway's record of a call cannot be read");
  record_.add(*call);
  if (events_.on_call) events_.on_call(*call);
}

void WayOut::note_tally(const egress::Framed& message) {
  const auto tally = egress::decode_tally(message.payload);
  if (!tally) return end_with("the gateway's tally cannot be read");
  record_.set_tally(tally->lost, tally->rate_waited);
}

void WayOut::note_change(GrantChange::Turn turn, const egress::Change& change, std::string by, Clock::time_point when) {
  last_change_ = std::max(last_change_, when);
  const auto at = std::chrono::duration_cast<std::chrono::microseconds>(last_change_ - served_);
  GrantChange made{at, turn, std::string(to_string(change.what)), change.text, std::move(by)};
  if (turn == GrantChange::Turn::kGranted) made.lasts = change.lasts;
  record_.add(made);
  if (events_.on_change) events_.on_change(made);
}

void WayOut::on_changed(const egress::Framed& message) {
  auto found = changes_.extract(message.head.serial);
  if (found.empty()) return end_with("the gateway answers what was not asked");
  Asked& asked = found.mapped();
  const std::string problem = printable(message.payload.substr(0, kMaxSentence));
  if (problem.empty()) {
    const bool granted = asked.turn == Turn::kGrant;
    // It opens after it was asked for and closes before we hear of it: what it allowed lies between the two.
    note_change(granted ? GrantChange::Turn::kGranted : GrantChange::Turn::kRevoked, asked.change, std::move(asked.by),
                granted ? asked.at : Clock::now());
  }
  if (asked.done) asked.done(problem);
}

void WayOut::on_ended(const egress::Framed& message) {
  const auto change = egress::decode_change(message.payload);
  if (!change) return end_with("the gateway's record of a lease cannot be read");
  note_change(GrantChange::Turn::kEnded, *change, "lease", Clock::now());
}

// Only what the plan has, by the descriptor that was opened when the run began.
void WayOut::dial(const egress::Head& asked) {
  egress::Head answer{.kind = Kind::kDialed, .number = asked.number, .serial = asked.serial};
  if (asked.number >= parts_.sockets.size()) return end_with("the gateway dials a socket that was not granted");
  auto connected = dial_socket(parts_.sockets[asked.number].get());
  if (!connected) answer.error = connected.error().errno_value;
  send(answer, {}, connected ? std::move(*connected) : Fd());
}

void WayOut::send(const egress::Head& head, std::string_view payload, Fd fd) {
  if (finished_) return;
  if (queue_.size() >= kMaxQueue) return end_with("the gateway does not listen");
  queue_.push_back({egress::frame(head, payload), std::move(fd)});
  flush();
}

void WayOut::flush() {
  while (!finished_ && !queue_.empty()) {
    const Outgoing& next = queue_.front();
    const std::vector<int> fds = next.fd.valid() ? std::vector<int>{next.fd.get()} : std::vector<int>{};
    Status sent = sys::send_bytes(parts_.gateway.process.control.get(), next.bytes.data(), next.bytes.size(), fds);
    if (!sent && (sent.error().errno_value == EAGAIN || sent.error().errno_value == ENOBUFS)) break;
    // What it said before it went is read first; its end follows.
    if (!sent && sent.error().errno_value == EPIPE) {
      queue_.clear();
      break;
    }
    if (!sent) return end_with("the gateway could not be reached");
    queue_.pop_front();
  }
  const bool waits = resume_ != Clock::time_point::max();
  if (!finished_) watch_.set_events((waits ? 0u : EPOLLIN) | (queue_.empty() ? 0u : EPOLLOUT));
}

}  // namespace cloche
