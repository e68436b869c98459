// Files that go into a run and come out of it: --put, --get, --artifact, and what workspaces leave.
#pragma once

#include <memory>

#include "base/result.h"
#include "cli/run_options.h"
#include "cli/run_record.h"
#include "cli/ticker.h"
#include "engine/engine.h"
#include "engine/keep.h"

namespace cloche::cli {

class FileTraffic {
 public:
  // Opens what the guest must not be able to redirect, and the run's directory where something will be kept.
  static Result<FileTraffic> prepare(const RunArgs& args, const Policy& policy, const Request& request,
                                     RunRecord& record);

  // Once wired to what cancels the run, a signal that comes while files are kept stops that, too.
  void wire(RunWiring& wiring);
  Keep keep();

  // What went wrong with them when the run was over.
  const Status& problem() const { return *problem_; }

 private:
  std::shared_ptr<Keeping> keeping_ = std::make_shared<Keeping>();
  std::shared_ptr<Ticker> progress_;
  int cancel_fd_ = -1;
  std::shared_ptr<Status> problem_ = std::make_shared<Status>();
};

}  // namespace cloche::cli
