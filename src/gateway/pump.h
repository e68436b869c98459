// Bytes from one socket to another, without looking at them. Many go through a pipe of the kernel's, so that they are
// not copied into this process; few go through it, which takes fewer calls. Pipes are borrowed while bytes are in them,
// so that idle connections hold none; where there is none left, many bytes go as few do.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "gateway/meter.h"
#include "gateway/stream.h"
#include "gateway/task.h"
#include "sys/channel.h"

namespace cloche::gateway {

struct Shared;
class Flow;

// A large pipe takes what waits in a socket at once: fewer calls for the same bytes, and fewer times that somebody is
// woken. Of these there are few, and not many of the others, because all processes of a user share what the kernel
// allows for pipes: a guest that reads nothing on a thousand connections would leave others with small ones.
class PipePool {
 public:
  class Loan {
   public:
    Loan(PipePool& pool, sys::Pipe pipe, std::size_t bytes) : pool_(&pool), pipe_(std::move(pipe)), bytes_(bytes) {
      ++pool.lent_;
    }
    Loan(Loan&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), pipe_(std::move(other.pipe_)), bytes_(other.bytes_) {}
    Loan& operator=(Loan&&) = delete;
    ~Loan();

    const sys::Pipe& pipe() const { return pipe_; }
    std::size_t bytes() const { return bytes_; }  // it may be asked to take
    void give_back();                             // if it is empty; else it is closed with what is in it

   private:
    friend class PipePool;
    PipePool* pool_;
    sys::Pipe pipe_;
    std::size_t bytes_;
  };
  std::optional<Loan> take();  // none: too many are on loan, or the kernel has none

 private:
  static constexpr std::size_t kKept = 16;
  static constexpr std::size_t kMostLarge = 4;
  static constexpr std::size_t kMostLent = 48;  // 15 MiB of the 64 that a user has by default
  struct Idle {
    sys::Pipe pipe;
    std::size_t bytes;
  };
  std::vector<Idle> idle_;
  std::size_t large_ = 0;  // here and on loan
  std::size_t lent_ = 0;
};

struct Ends {
  int left = 2;
  bool cut = false;  // one side takes no more, and did not say so
};

// Until the end of `from`, which is passed on as what it is. A side that takes no more may have said something before:
// that is passed on first. `ends`: of this connection, both ways.
Task<void> pump(Shared& shared, Flow& flow, Stream& from, Stream& to, Way way, Ends& ends);
// Both ways, until both are over; `early` goes to the server first.
Task<void> relay(Shared& shared, Flow& flow, Stream& client, Stream& server, std::string early = {});

// The server takes no more, but may have said something before: that is passed on, and then both end.
Task<void> hear_out(Shared& shared, Flow& flow, Stream& client, Stream& server);

// `from` has more for a side that takes no more: it is read and forgotten, so that nobody waits, as long as the other
// way gets on; then both end.
Task<void> outlast(Shared& shared, Flow& flow, Stream& from, Stream& to);
// Ends both by a reset, once what `to` was sent has arrived.
Task<void> cut_both(Shared& shared, Stream& from, Stream& to);

// Counts bytes that were moved by other means, and waits as long as the rate wants. False: the run is over.
Task<bool> account(Shared& shared, Flow& flow, Way way, std::size_t bytes);

}  // namespace cloche::gateway
