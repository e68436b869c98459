// One run that `cloche learn` makes to see what happens: never a write to the host's files, and nothing kept.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "cli/run_options.h"
#include "learn/changes.h"
#include "learn/limits.h"
#include "observe/sighting.h"
#include "plan/plan.h"
#include "report/report.h"

namespace cloche::cli {

struct LearnTry {
  Policy policy;
  Report report;
  std::vector<observe::Sighting> seen;
  std::string out;  // what it wrote to stdout
  learn::Used used;
  learn::Changed changed;
};

class LearnRuns {
 public:
  LearnRuns(const RunArgs& args, const Environment& env, Fd cancel)
      : args_(args), env_(env), cancel_(std::move(cancel)) {}

  // Grants to write become workspaces whose changes nobody keeps.
  LearnTry run(Policy policy, Observe observe);
  std::size_t count() const { return count_; }
  bool cancelled() const { return cancelled_; }

 private:
  Result<Request> request_for(const Policy& policy);

  const RunArgs& args_;
  const Environment& env_;
  Fd cancel_;
  std::optional<Request> from_stdin_;  // which can be read only once
  std::size_t count_ = 0;
  bool cancelled_ = false;
};

// The plan of a policy for no command in particular.
Result<Plan> plan_of(const Policy& policy, const std::string& home);

}  // namespace cloche::cli
