#include "gateway/pump.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "gateway/flow.h"
#include "gateway/shared.h"

namespace cloche::gateway {
namespace {

constexpr int kPipeBytes = 256 * 1024;
constexpr int kLargeBytes = 1024 * 1024;  // the most that one without privilege may have
constexpr int kTurns = 32;                // of one connection, before the others have theirs
constexpr int kLargeTurns = 8;            // of a large pipe

enum class Drained { kAll, kBroken };

// Everything in the pipe, out of it.
Task<Drained> drain(const sys::Pipe& pipe, Stream& to, std::size_t left) {
  while (left > 0) {
    const std::size_t piece = std::min(left, to.piece());
    const ssize_t n = ::splice(pipe.read.get(), nullptr, to.fd(), nullptr, piece, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
    if (n > 0) {
      left -= static_cast<std::size_t>(n);
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n == 0 || errno != EAGAIN) co_return Drained::kBroken;
    to.not_writable();
    co_await to.writable();
  }
  co_return Drained::kAll;
}

}  // namespace

std::optional<PipePool::Loan> PipePool::take() {
  if (lent_ == kMostLent) return std::nullopt;
  if (!idle_.empty()) {
    auto best = std::ranges::max_element(idle_, {}, &Idle::bytes);
    Loan loan(*this, std::move(best->pipe), best->bytes);
    idle_.erase(best);
    return loan;
  }
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0) return std::nullopt;
  sys::Pipe pipe{Fd(fds[0]), Fd(fds[1])};
  // Only faster; a user has so much memory for pipes and no more.
  if (large_ < kMostLarge && ::fcntl(pipe.read.get(), F_SETPIPE_SZ, kLargeBytes) >= 0) {
    ++large_;
    return Loan(*this, std::move(pipe), kLargeBytes);
  }
  (void)::fcntl(pipe.read.get(), F_SETPIPE_SZ, kPipeBytes);
  return Loan(*this, std::move(pipe), kPipeBytes);
}

void PipePool::Loan::give_back() {
  if (pool_->idle_.size() == kKept) return;
  pool_->idle_.push_back({std::move(pipe_), bytes_});
  --std::exchange(pool_, nullptr)->lent_;
}

PipePool::Loan::~Loan() {
  if (pool_ == nullptr) return;
  --pool_->lent_;
  if (bytes_ == kLargeBytes) --pool_->large_;
}

Task<bool> account(Shared& shared, Flow& flow, Way way, std::size_t bytes) {
  (way == Way::kIn ? flow.record.bytes_in : flow.record.bytes_out) += bytes;
  const std::string_view limit = shared.meter.add(way, bytes);
  if (!limit.empty()) {
    shared.hit(limit);
    co_return false;
  }
  if (shared.meter.has_rate()) co_await shared.loop.until(shared.meter.free_at());
  co_return !shared.over;
}

namespace {

enum class Turn {
  kLittle,
  kMuch,
  kNothing,
  kEnd,
  kGone,    // `from` did not end, but is no more
  kNoMore,  // `to` takes no more
  kOver,
};

// Through this process, which takes fewer calls than a pipe. Nobody else has a turn between the read and the write,
// unless there is a rate to wait for, so all connections share the room.
Task<Turn> move_little(Shared& shared, Flow& flow, Stream& from, Stream& to, Way way) {
  const std::size_t most = shared.meter.most_at_once(shared.part.size());
  const ssize_t n = ::recv(from.fd(), shared.part.data(), most, 0);
  if (n < 0 && errno == EAGAIN) {
    from.not_readable();
    co_return Turn::kNothing;
  }
  if (n < 0) co_return errno == EINTR ? Turn::kNothing : Turn::kGone;
  if (n == 0) co_return Turn::kEnd;
  std::string_view bytes(shared.part.data(), static_cast<std::size_t>(n));
  const bool is_all = bytes.size() < most;
  if (is_all) from.drained();
  std::string kept;
  if (shared.meter.has_rate()) bytes = kept = bytes;
  const bool go_on = co_await account(shared, flow, way, bytes.size());
  if (!go_on) co_return Turn::kOver;
  const ssize_t sent = ::send(to.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) co_return Turn::kNoMore;
  bytes.remove_prefix(sent < 0 ? 0 : static_cast<std::size_t>(sent));
  if (!bytes.empty()) {
    const std::string rest(bytes);
    const int error = co_await to.write_all(rest);
    if (error != 0) co_return Turn::kNoMore;
  }
  co_return is_all ? Turn::kLittle : Turn::kMuch;
}

// Through a pipe.
Task<Turn> move_much(Shared& shared, Flow& flow, Stream& from, Stream& to, Way way) {
  std::optional<PipePool::Loan> loan = shared.pipes.take();
  if (!loan) {
    const Turn turn = co_await move_little(shared, flow, from, to, way);
    co_return turn;
  }
  const sys::Pipe& pipe = loan->pipe();
  const std::size_t most = shared.meter.most_at_once(loan->bytes());
  const ssize_t n = ::splice(from.fd(), nullptr, pipe.write.get(), nullptr, most, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
  if (n <= 0) {
    const int error = n == 0 ? 0 : errno;
    loan->give_back();
    if (error == EINTR) co_return Turn::kNothing;
    // At a mark of urgent bytes it says the same as at the end, or as if there were nothing. Another call knows better.
    if (error == 0 || (error == EAGAIN && from.ends_or_stops())) {
      const Turn turn = co_await move_little(shared, flow, from, to, way);
      co_return turn;
    }
    if (error != EAGAIN) co_return Turn::kGone;
    from.not_readable();
    co_return Turn::kNothing;
  }
  const auto bytes = static_cast<std::size_t>(n);
  const bool go_on = co_await account(shared, flow, way, bytes);
  if (!go_on) co_return Turn::kOver;
  const Drained drained = co_await drain(pipe, to, bytes);
  if (drained == Drained::kBroken) co_return Turn::kNoMore;
  loan->give_back();
  co_return Turn::kMuch;
}

constexpr Millis kPatience{2'000};

// A reset overtakes what is still on its way.
Task<void> let_arrive(Shared& shared, const Stream& to) {
  constexpr Millis kPause{2};
  const Clock::time_point deadline = Clock::now() + kPatience;
  while (!to.has_arrived() && !shared.over && Clock::now() < deadline)
    co_await shared.loop.until(Clock::now() + kPause);
}

}  // namespace

Task<void> cut_both(Shared& shared, Stream& from, Stream& to) {
  co_await let_arrive(shared, to);
  from.cut();
  to.cut();
}

Task<void> outlast(Shared& shared, Flow& flow, Stream& from, Stream& to) {
  const auto moved = [&flow] { return flow.record.bytes_in + flow.record.bytes_out; };
  std::uint64_t before = moved();
  Clock::time_point deadline = Clock::now() + kPatience;
  for (int turn = 0;; ++turn) {
    const bool in_time = co_await from.readable(deadline);
    if (turn % kTurns == kTurns - 1) co_await shared.loop.others();
    if (!in_time || Clock::now() >= deadline) {
      if (moved() == before) break;
      before = moved();
      deadline = Clock::now() + kPatience;
      continue;
    }
    const ssize_t n = ::recv(from.fd(), shared.part.data(), shared.part.size(), 0);
    if (n == 0) co_return;  // it has ended; the other way goes on
    if (n < 0 && errno == EAGAIN) from.not_readable();
    if (n < 0 && errno != EAGAIN && errno != EINTR) break;
  }
  from.cut();
  to.cut();
}

Task<void> pump(Shared& shared, Flow& flow, Stream& from, Stream& to, Way way, Ends& ends) {
  bool much = shared.meter.has_rate();  // a pipe keeps the bytes while they wait
  for (int turn = 0;; ++turn) {
    co_await from.readable();
    const int turns = much ? kLargeTurns : kTurns;
    if (turn % turns == turns - 1) co_await shared.loop.others();
    Task<Turn> move = much ? move_much(shared, flow, from, to, way) : move_little(shared, flow, from, to, way);
    const Turn moved = co_await move;
    if (moved == Turn::kMuch && !std::exchange(much, true)) to.expect_much();
    if (moved == Turn::kOver) co_return;
    if (moved == Turn::kEnd && !ends.cut) {
      const bool last = --ends.left == 0;
      co_await shared.loop.others();  // who leaves has time, who comes has not
      // Else both are closed now, unless somebody else may hold the other one open.
      if (!last || to.may_have_copies()) to.end_of_writing();
      co_return;
    }
    if (moved == Turn::kNoMore) {
      ends.cut = true;
      if (--ends.left > 0) {  // what it said before is passed on by the other way's pump
        co_await outlast(shared, flow, from, to);
        co_return;
      }
    }
    if (moved == Turn::kEnd || moved == Turn::kGone || moved == Turn::kNoMore) break;
  }
  co_await cut_both(shared, from, to);
}

Task<void> hear_out(Shared& shared, Flow& flow, Stream& client, Stream& server) {
  Ends ends{.left = 1, .cut = true};
  co_await Both(outlast(shared, flow, client, server), pump(shared, flow, server, client, Way::kIn, ends));
}

Task<void> relay(Shared& shared, Flow& flow, Stream& client, Stream& server, std::string early) {
  if (!early.empty()) {
    const bool go_on = co_await account(shared, flow, Way::kOut, early.size());
    if (!go_on) co_return;
    const int error = co_await server.write_all(early);
    if (error != 0) {
      co_await hear_out(shared, flow, client, server);
      co_return;
    }
  }
  Ends ends;
  co_await Both(pump(shared, flow, client, server, Way::kOut, ends),
                pump(shared, flow, server, client, Way::kIn, ends));
}

}  // namespace cloche::gateway
