#include "gateway/pump.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <utility>

#include "gateway/flow.h"
#include "gateway/shared.h"

namespace cloche::gateway {
namespace {

constexpr int kPipeBytes = 256 * 1024;
constexpr int kTurns = 32;  // of one connection, before the others have theirs

enum class Drained { kAll, kBroken };

// Everything in the pipe, out of it.
Task<Drained> drain(const sys::Pipe& pipe, Stream& to, std::size_t left) {
  while (left > 0) {
    const ssize_t n = ::splice(pipe.read.get(), nullptr, to.fd(), nullptr, left, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
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

std::optional<sys::Pipe> PipePool::take() {
  if (!idle_.empty()) {
    sys::Pipe pipe = std::move(idle_.back());
    idle_.pop_back();
    return pipe;
  }
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0) return std::nullopt;
  // Only faster; a user has so much memory for pipes and no more.
  (void)::fcntl(fds[0], F_SETPIPE_SZ, kPipeBytes);
  return sys::Pipe{Fd(fds[0]), Fd(fds[1])};
}

void PipePool::give(sys::Pipe pipe) {
  if (idle_.size() < kKept) idle_.push_back(std::move(pipe));
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

enum class Moved { kLittle, kMuch, kNothing, kEnd, kBroken, kOver };

// Through this process, which takes fewer calls than a pipe. Nobody else has a turn between the read and the write, so
// all connections share the room.
Task<Moved> move_little(Shared& shared, Flow& flow, Stream& from, Stream& to, Way way) {
  const std::size_t most = shared.meter.most_at_once(shared.part.size());
  const ssize_t n = ::recv(from.fd(), shared.part.data(), most, 0);
  if (n < 0 && errno == EAGAIN) {
    from.not_readable();
    co_return Moved::kNothing;
  }
  if (n < 0) co_return errno == EINTR ? Moved::kNothing : Moved::kBroken;
  if (n == 0) co_return Moved::kEnd;
  const auto size = static_cast<std::size_t>(n);
  if (size < most) from.drained();
  const bool go_on = co_await account(shared, flow, way, size);
  if (!go_on) co_return Moved::kOver;
  const ssize_t sent = ::send(to.fd(), shared.part.data(), size, MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) co_return Moved::kBroken;
  const std::size_t done = sent < 0 ? 0 : static_cast<std::size_t>(sent);
  if (done < size) {
    const std::string rest(shared.part.data() + done, size - done);
    const int error = co_await to.write_all(rest);
    if (error != 0) co_return Moved::kBroken;
  }
  co_return size < most ? Moved::kLittle : Moved::kMuch;
}

// Through a pipe.
Task<Moved> move_much(Shared& shared, Flow& flow, Stream& from, Stream& to, Way way) {
  std::optional<sys::Pipe> pipe = shared.pipes.take();
  if (!pipe) {
    flow.abort("no pipe could be made for it");
    co_return Moved::kOver;
  }
  const std::size_t most = shared.meter.most_at_once(kPipeBytes);
  const ssize_t n = ::splice(from.fd(), nullptr, pipe->write.get(), nullptr, most, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
  if (n <= 0) {
    const int error = errno;
    shared.pipes.give(std::move(*pipe));
    if (n == 0) co_return Moved::kEnd;
    if (error == EAGAIN) from.not_readable();
    co_return error == EAGAIN || error == EINTR ? Moved::kNothing : Moved::kBroken;
  }
  const auto bytes = static_cast<std::size_t>(n);
  const bool go_on = co_await account(shared, flow, way, bytes);
  if (!go_on) co_return Moved::kOver;
  const Drained drained = co_await drain(*pipe, to, bytes);
  if (drained == Drained::kBroken) co_return Moved::kBroken;
  shared.pipes.give(std::move(*pipe));
  co_return Moved::kMuch;
}

}  // namespace

Task<void> pump(Shared& shared, Flow& flow, Stream& from, Stream& to, Way way, Ends& ends) {
  // Who waits for the rate would have to keep the bytes: a pipe does.
  bool much = shared.meter.has_rate();
  for (int turn = 0;; ++turn) {
    co_await from.readable();
    if (turn % kTurns == kTurns - 1) co_await shared.loop.others();
    Task<Moved> move = much ? move_much(shared, flow, from, to, way) : move_little(shared, flow, from, to, way);
    const Moved moved = co_await move;
    if (moved == Moved::kMuch) much = true;
    if (moved == Moved::kOver) co_return;
    if (moved == Moved::kEnd) {
      const bool last = --ends.left == 0;
      co_await shared.loop.others();  // who leaves has time, who comes has not
      // Else both are closed now, unless somebody else may hold the other one open.
      if (!last || to.may_have_copies()) to.end_of_writing();
      co_return;
    }
    if (moved == Moved::kBroken) break;
  }
  // One side is gone: so is the other.
  from.reset_on_close();
  to.reset_on_close();
  from.shut_down();
  to.shut_down();
}

Task<void> relay(Shared& shared, Flow& flow, Stream& client, Stream& server) {
  Ends ends;
  co_await Both(pump(shared, flow, client, server, Way::kOut, ends),
                pump(shared, flow, server, client, Way::kIn, ends));
}

}  // namespace cloche::gateway
