// DiskWatch: holds limits.disk and limits.inodes where no file system can: in directories of the host that a guest
// writes to. It measures them before the guest starts and again and again while it runs, and says when what was written
// there and in the scratch is more than the limit. Between two looks a guest can write more than that: how much is
// bounded by time and by RLIMIT_FSIZE for each file, not by this. So between them the room that the file systems have
// left is asked for, which takes no time, as often as the fastest guest could use up what it may still write; where a
// good part of that is gone, the next look is due.
//
// Everything is done in slices of the event loop: two milliseconds, then a pause of nineteen times what the slice took,
// so never more than a twentieth of a cpu. Before the guest starts and after its end nothing else waits for the loop's
// run, and slices follow each other. So they do where the room shrank by all that the guest may still write: a large
// tree would be walked for seconds while it writes on. Then the rest after a look is as long as the look, half of a
// cpu, and longer where looks find that it was others who wrote.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/units.h"
#include "launch/cell.h"
#include "plan/plan.h"
#include "supervise/held_files.h"
#include "supervise/tree_meter.h"

namespace cloche {

class DiskWatch {
 public:
  // Whether there is anything to look at: what a plan names, and the work directory of tier 0.
  static bool is_needed(const Plan& plan) { return !plan.watched.empty() || plan.backend == Backend::kProcess; }
  // For a guest-to-be that waits: the scratch that it will write to is found by it.
  static Result<DiskWatch> begin(const Plan& plan, const Cell& cell, pid_t guest);

  // When advance() wants to be called; never, once it has a verdict or is done.
  Clock::time_point next() const { return next_; }
  void advance(Clock::time_point now, const Cell& cell);

  bool has_baseline() const { return phase_ != Phase::kBaseline; }
  // From here on the guest runs.
  void start(Clock::time_point now);
  // The guest is dead: one more look at what it left.
  void begin_last_look(Clock::time_point now);
  // Nobody wants to know any more.
  void stop();
  bool done() const { return phase_ == Phase::kDone; }

  // Why the run has to end; empty: no reason.
  const std::string& verdict() const { return verdict_; }
  bool inodes_used_up() const { return inodes_used_up_; }
  // At the last look: more files than before were as large as RLIMIT_FSIZE lets one become. Nothing else tells of a
  // guest that was refused more: a program that ignores SIGXFSZ gets an error like any other.
  bool file_at_bound() const { return file_at_bound_; }
  // Of the receipt: what was there before.
  std::string evidence() const;

 private:
  enum class Phase : std::uint8_t { kBaseline, kIdle, kTrees, kHeld, kLastTrees, kDone };
  struct Room {
    std::uint64_t bytes = 0;
    std::uint64_t files = 0;
  };

  DiskWatch(const Plan& plan, TreeMeter meter) : limits_(plan.limits), meter_(std::move(meter)) {}
  void open_scratch(const Cell& cell, pid_t guest);
  Amount scratch_used() const;
  std::vector<Room> rooms() const;
  Clock::duration until_used_up() const;
  enum class Shrank : std::uint8_t { kLittle, kByHalf, kByAll };  // of what the guest may still write
  Shrank shrank() const;
  void rest_after_look(Clock::time_point now);
  void rest_from(Clock::time_point now);
  void look(Clock::time_point now, const Cell& cell);
  void finish_look(Clock::time_point now);
  void judge();
  void judge_rooms();
  void end(std::string why);

  Limits limits_;
  TreeMeter meter_;
  HeldFiles held_;
  std::vector<Fd> scratch_;  // one for each file system of the cell's own
  Amount scratch_before_;
  Amount before_;
  Amount last_;
  std::vector<Room> reserve_;  // for each root: with less than this left, its file system is full
  std::vector<Room> left_;     // for each root, at the last look
  Amount used_;                // of the limits, as far as this look has found
  Amount known_;               // the same, at the end of the last look
  Phase phase_ = Phase::kBaseline;
  Clock::time_point next_{};
  Clock::time_point due_{};     // the next look, if nothing asks for one before
  Clock::time_point rested_{};  // and not before this
  Clock::time_point ready_{};   // or this, where everything may be used up by now
  bool pressed_ = false;        // it may
  int pressed_share_ = 1;       // of rest to work then
  Clock::duration interval_{};
  Clock::duration cost_{};  // of this look
  std::string verdict_;
  bool inodes_used_up_ = false;
  std::uint64_t at_bound_before_ = 0;
  bool file_at_bound_ = false;
};

}  // namespace cloche
