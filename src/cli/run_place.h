// Where a run of the command line is done: by the command itself, or by an attendant that does it for the command.
#pragma once

#include <optional>

#include "base/result.h"
#include "cli/run_options.h"
#include "engine/engine.h"

namespace cloche::cli {

class RunPlace {
 public:
  virtual ~RunPlace() = default;

  // Before the policy is read. What becomes readable when the run is to end.
  virtual Result<int> begin(const RunArgs& args) = 0;
  // Whether a policy with these very values was found to be right before.
  virtual bool knows(const Policy& policy) const = 0;
  // Whether this run is done here; asked once, before anything is changed. Who says no is not asked to run.
  virtual bool takes(const Policy& policy, const Request& request) = 0;
  virtual Report run(const Policy& policy, const Request& request, RunWiring wiring, const Keep& keep) = 0;
  // Whether what is wrong with a command line or a policy is told here.
  virtual bool answers_for_errors() const = 0;
};

// The exit code; nothing where the place does not take the run, and nothing was done.
std::optional<int> run_at(RunPlace& place, const RunArgs& args);

}  // namespace cloche::cli
