// Control: who may change a run's grants while it lives. The run opens it when its guest starts and closes it when the
// guest is gone; both happen on the thread of the run's loop, which nothing here may hold up.
#pragma once

#include <functional>
#include <string>

#include "supervise/way_out.h"
#include "sys/poller.h"

namespace cloche {

class Control {
 public:
  // `by`: who asks, for the report. `done` hears the gateway's answer, unless this fails at once.
  using Ask =
      std::function<Status(WayOut::Turn turn, const egress::Change& change, std::string by, WayOut::Changed done)>;

  virtual ~Control() = default;
  virtual void open(Poller& poller, Ask ask) = 0;
  // Who waits for an answer has had it by then.
  virtual void close() = 0;
};

}  // namespace cloche
