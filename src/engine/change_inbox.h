// The library's way to change a run that lives: asked from any thread, done on the thread of the run's loop.
#pragma once

#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

#include "base/fd.h"
#include "base/result.h"
#include "egress/message.h"
#include "engine/live_grants.h"
#include "supervise/control.h"

namespace cloche {

class ChangeInbox : public Control {
 public:
  static Result<std::shared_ptr<ChangeInbox>> make(LiveGrants grants);
  ~ChangeInbox() override { close(); }

  // Waits for the guest's start and for the gateway's answer. From a callback of the run it would wait for itself, and
  // is refused.
  Status ask(WayOut::Turn turn, const egress::Change& change);

  void open(Poller& poller, Ask ask) override;
  // Also by whoever knows that the run will never open it. Who waits is told.
  void close() override;

 private:
  struct Job {
    WayOut::Turn turn{};
    egress::Change change;
    std::promise<std::string> answer;
  };

  ChangeInbox(LiveGrants grants, Fd wake) : grants_(std::move(grants)), wake_(std::move(wake)) {}
  void work();

  const LiveGrants grants_;
  Fd wake_;
  std::mutex mutex_;
  std::deque<std::shared_ptr<Job>> jobs_;
  std::thread::id loop_;
  bool closed_ = false;
  // Of the loop's thread alone.
  Ask ask_;
  Poller::Watch watch_;
};

}  // namespace cloche
