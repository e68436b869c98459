// How a run's disk limit is held in directories of the host: before the guest, while it runs, and after it.
#include <utility>

#include <fmt/format.h>

#include "supervise/run.h"

namespace cloche {

Status Run::begin_disk_watch(int guest) {
  CLOCHE_TRY_ASSIGN(disk_, DiskWatch::begin(plan_, cell_, guest));
  check_disk(Clock::now());
  return {};
}

void Run::check_disk(Clock::time_point now) {
  disk_->advance(now, cell_);
  if (state_ == State::kPreparing) {
    // As long as it gets on, it may take its time.
    if (prepare_deadline_ != Clock::time_point::max()) prepare_deadline_ = now + kPrepareLimit;
    if (!disk_->verdict().empty()) {
      fail_run({ErrorCode::kRefused, "disk", 0, disk_->verdict(),
                "change its mode, or grant a directory that this user can read"});
      kill_now();
    } else if (disk_->has_baseline()) {
      for (ReceiptLine& line : report_.receipt) {
        if (line.guarantee == Guarantee::kDisk) line.evidence += ", " + disk_->evidence();
      }
      timeline_.until("measure", Clock::now());
      start_guest();
    }
    return;
  }
  if (state_ == State::kFlushing) {
    try_finish();
    return;
  }
  if (disk_->verdict().empty()) return;
  set_cause(OutcomeKind::kDisk, disk_->verdict());
  kill_now();
}

}  // namespace cloche
