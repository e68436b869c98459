// Bytes from one socket to another, without looking at them. Many go through a pipe of the kernel's, so that they are
// not copied into this process; few go through it, which takes fewer calls. Pipes are borrowed while bytes are in them,
// so that idle connections hold none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "gateway/meter.h"
#include "gateway/stream.h"
#include "gateway/task.h"
#include "sys/channel.h"

namespace cloche::gateway {

struct Shared;
class Flow;

class PipePool {
 public:
  std::optional<sys::Pipe> take();
  void give(sys::Pipe pipe);  // empty ones only

 private:
  static constexpr std::size_t kKept = 16;
  std::vector<sys::Pipe> idle_;
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
