// Bytes from one socket to another, without looking at them. Many go through a pipe of the kernel's, so that they are
// not copied into this process; few go through it, which takes fewer calls. Pipes are borrowed while bytes are in them, so that idle connections hold none.
#pragma once

#include <optional>
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
};

// Until the end of `from`, which is passed on, or an error, which ends both. `ends`: of this connection, both ways.
Task<void> pump(Shared& shared, Flow& flow, Stream& from, Stream& to, Way way, Ends& ends);
// Both ways, until both are over.
Task<void> relay(Shared& shared, Flow& flow, Stream& client, Stream& server);

// Counts bytes that were moved by other means, and waits as long as the rate wants. False: the run is over.
Task<bool> account(Shared& shared, Flow& flow, Way way, std::size_t bytes);

}  // namespace cloche::gateway
