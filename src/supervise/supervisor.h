// Supervisor: one event loop over the pidfds, pipes and timers of any number of runs. No thread per run, no signal
// handler, no process-wide state: it may live in any one thread of a host program. That thread is the cells' parent,
// so it must outlive them.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/result.h"
#include "launch/janitor.h"
#include "plan/host_facts.h"
#include "plan/plan.h"
#include "supervise/run.h"

namespace cloche {

// How a tier starts a cell; handed in, because supervise/ knows no tier.
using Starter = std::function<Result<Cell>(const Plan&, const LaunchContext&)>;

class Supervisor {
 public:
  static Result<std::unique_ptr<Supervisor>> make(HostFacts host, Starter starter,
                                                  Janitor::Home janitor = Janitor::Home::kProgram);
  ~Supervisor();

  // Launches now; `done` is called from step(), exactly once.
  Run* add(std::shared_ptr<const Plan> plan, RunWiring wiring, std::string id, std::function<void(Report)> done);
  // Waits for events until the next deadline, at most until `until`, and handles them.
  Status step(Clock::time_point until);
  std::size_t active() const { return runs_.size(); }
  Poller& poller() { return *poller_; }
  const HostFacts& host() const { return host_; }
  // Null where the janitor removes nothing but cgroups.
  Janitor* tree_janitor() { return janitor_->home() == Janitor::Home::kProgram ? janitor_.get() : nullptr; }
  // Ahead of the plan: a first process for the next run, taken if it fits, ended if nobody takes it.
  void use_early(Spawned process) { early_ = std::move(process); }
  // From now on what is left of runs that have ended goes with release(), not before step() returns: for whoever has to
  // pass a report on first.
  void hold_ended() { holds_ended_ = true; }
  void release();
  // Ends every run at once; their reports come from step().
  void kill_all();
  // Ends the supervisor, whose runs are over, and dismisses its janitor: whoever gets it waits for it when nothing else
  // is left to do.
  static std::unique_ptr<Janitor> dismiss(std::unique_ptr<Supervisor> supervisor);

 private:
  Supervisor() = default;
  void watch_janitor();
  void revive_janitor(Clock::time_point now);

  HostFacts host_;
  Starter starter_;
  std::unique_ptr<Poller> poller_;
  std::unique_ptr<Janitor> janitor_;
  Fd janitor_end_;  // a copy of its own: the watch must be gone before the number is used again
  Poller::Watch janitor_watch_;
  unsigned watched_birth_ = 0;
  Clock::time_point revive_at_ = Clock::time_point::max();
  Spawned early_;
  std::map<std::string, std::unique_ptr<Run>> runs_;
  std::vector<std::string> done_;
  bool holds_ended_ = false;
};

// An id that names a run, its cgroup and its work directory: 12 characters of randomness.
Result<std::string> make_run_id();

}  // namespace cloche
