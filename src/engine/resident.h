// An engine that stays: it does one run after the other in the cells of a keeper, some of which it has at hand, and
// remembers its plans. For whoever serves many callers, one at a time (the command line's attendant).
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "engine/engine.h"
#include "plan/host_facts.h"
#include "plan/plan.h"
#include "plan/request.h"
#include "policy/policy.h"
#include "sys/mount_changes.h"

namespace cloche {

class ResidentEngine {
 public:
  // `keeper`: a socket to one that knows us already.
  static Result<std::unique_ptr<ResidentEngine>> make(Fd keeper);

  Poller& poller() { return supervisor_->poller(); }
  const HostFacts& host() const { return supervisor_->host(); }
  // Whether the host is what it was when its facts were probed, from which plans are made. Mounts are always looked at;
  // the rest while nobody waits, at most once in a second, and before a run only after a longer time without one.
  enum class Time : std::uint8_t { kBeforeARun, kIdle };
  bool host_is_the_same(Time when);
  // Not without its keeper, nor when it can no longer wait for anything: whoever waits for runs ends then.
  bool is_of_use() const { return !failed_ && keeper_->connected(); }

  // When somebody has come and has yet to ask: looks at what a cell is made from, for the run that follows.
  void look_ahead() { keeper_->look_ahead(); }
  // Whether there is a plan of it, or of one that is equal.
  bool knows(const Policy& policy) const;
  // Null: not one for the keeper's cells, or refused. Whoever does the run some other way will hear why.
  std::shared_ptr<const Plan> plan_for(const Policy& policy, const Request& request);
  // Of a plan that was made for this policy and this request.
  Report run(const std::shared_ptr<const Plan>& plan, const Policy& policy, const Request& request, RunWiring wiring);

  // When the report has been passed on: lets the cell go.
  void release() {
    supervisor_->release();
    keeper_->tell_attended(keeper::Client::Attended::kOver);
  }
  // Between runs: orders what was used up.
  void top_up() { keeper_->top_up(); }
  // Waits for events at most until then. Puts away what lay unused.
  Status wait(Clock::time_point until);

 private:
  // What a plan was made from; how often one program runs with other arguments does not matter.
  struct Known {
    Policy policy;
    Request request;
    std::vector<OwnPlace> own_places;  // of the user's, that a grant may hold
    std::shared_ptr<const Plan> plan;
  };

  std::shared_ptr<keeper::Client> keeper_;
  std::unique_ptr<Supervisor> supervisor_;
  Poller::Watch orders_;
  std::list<Known> known_;
  std::optional<sys::MountChanges> mounts_;
  std::vector<std::string> fact_places_;  // what facts are read from
  std::uint64_t fact_mounts_ = 0;         // around them
  Clock::time_point probed_ = Clock::now();
  bool failed_ = false;
};

}  // namespace cloche
