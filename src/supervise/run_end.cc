// How a run ends: which cause counts, and what is cleaned up.
#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "supervise/run.h"

namespace cloche {
namespace {

struct Ending {
  bool bad = false;  // a code other than 0, or a signal
  int code = 0;
  int signal = 0;
};

Ending decode(int status) {
  if (WIFSIGNALED(status)) return {true, 0, WTERMSIG(status)};
  const int code = WEXITSTATUS(status);
  return {code != 0, code, 0};
}

}  // namespace

void Run::on_init_ended() {
  if (init_ended_) return;
  on_control();  // its last words come before its end
  if (init_ended_) return;
  // Out of epoll before it is closed: a child of another run holds a copy of it until its exec, so closing alone would
  // leave it registered, with an address that is gone.
  pidfd_watch_.set_events(0);
  auto status = try_reap(cell_.process);
  if (status && !*status) {
    pidfd_watch_.set_events(EPOLLIN);
    return;
  }
  cell_.cgroup.kill();
  on_cell_empty();
}

void Run::on_cell_empty() {
  if (init_ended_) return;
  init_ended_ = true;
  // Nobody of a cell that was killed tells when its guest ended: with it.
  if (started_ && !exit_seen_) {
    if (first_output_ != Clock::time_point{}) timeline_.beside(kFirstOutput, first_output_);
    timeline_.until("guest", killed_at_.value_or(Clock::now()));
  }
  timeline_.until("reap", Clock::now());
  cell_.stdio.clear();  // if it never got them: nobody else will write there
  pidfd_watch_.reset();
  control_watch_.reset();
  if (wiring_.cancel_fd >= 0 && !cancel_watch_.active()) {
    auto watch = poller_.watch(wiring_.cancel_fd, EPOLLIN, [this](std::uint32_t) { on_cancel_readable(); });
    if (watch) cancel_watch_ = std::move(*watch);
  }
  oom_watch_.reset();
  wall_deadline_ = grace_deadline_ = prepare_deadline_ = cpu_check_ = rekill_ = Clock::time_point::max();
  if (started_) report_.usage.wall = std::chrono::duration_cast<Millis>(Clock::now() - started_at_);
  state_ = State::kFlushing;
  report_.lifecycle.emplace_back("drain");
  if (in_pump_) in_pump_->stop();
  if (out_pump_) out_pump_->drain();
  if (err_pump_) err_pump_->drain();
  close_control();
  if (way_out_) way_out_->finish(Clock::now());
  // What a fast writer left counts, too. A run that ended for another reason is not looked at any more.
  if (disk_ && (cause_set_ || !started_)) disk_->stop();
  if (disk_) disk_->begin_last_look(Clock::now());
  try_finish();
}

void Run::settle_outcome() {
  Outcome& outcome = report_.outcome;
  Usage& usage = report_.usage;
  const CgroupUsage counted = counted_ ? *counted_ : cell_.cgroup.usage();
  if (counted.memory_peak) usage.memory_peak = Bytes{*counted.memory_peak};
  if (counted.pids_peak) usage.pids_peak = *counted.pids_peak;
  usage.forks_refused = counted.forks_refused;
  usage.oom_kills = counted.oom_kills;
  const Ending ending = exit_seen_ ? decode(exit_status_) : Ending{};
  outcome.code = ending.code;
  outcome.signal = ending.signal;
  const auto settle = [&](OutcomeKind kind, std::string message) {
    outcome.kind = kind;
    outcome.message = std::move(message);
    cause_set_ = true;
  };
  if (!cause_set_ && counted.oom_kills > 0 && (!exit_seen_ || ending.bad)) {
    settle(OutcomeKind::kOom, fmt::format("the cell used more than {} of memory", to_text(plan_.limits.memory)));
  }
  if (!cause_set_ && !exit_seen_) {
    settle(OutcomeKind::kFailed, "the cell's init ended without a word");
    outcome.step = started_ ? "run" : "prepare";
    outcome.hint = "something outside killed it, or the host is out of memory";
  }
  // The gateway cuts the streams when it tells of this: a guest may be gone before its word is heard.
  if (!cause_set_ && !network_limit_.empty()) {
    settle(OutcomeKind::kNetwork, fmt::format("the limit {} was hit", network_limit_));
  }
  const auto cpu_used = usage.cpu_user + usage.cpu_system;
  if (!cause_set_ && plan_.limits.cpu_time && (ending.signal == SIGXCPU || ending.signal == SIGKILL) &&
      cpu_used >= *plan_.limits.cpu_time) {
    settle(OutcomeKind::kCpu, fmt::format("a process used more than {} of cpu time", to_text(*plan_.limits.cpu_time)));
  }
  if (!cause_set_ && ending.signal == SIGSYS) {
    settle(OutcomeKind::kDenied,
           "the guest died of SIGSYS: the system-call filter ends who uses another architecture's calls that way");
  }
  if (!cause_set_ && disk_ && !disk_->verdict().empty()) settle(OutcomeKind::kDisk, disk_->verdict());
  // A shell says by its code how its child ended.
  constexpr int kOfChild = 128 + SIGXFSZ;
  if (!cause_set_ && (ending.signal == SIGXFSZ || ending.code == kOfChild)) {
    settle(OutcomeKind::kDisk, fmt::format("the guest wrote a file larger than {}", to_text(plan_.limits.disk)));
  }
  const bool file_at_bound = disk_ && disk_->file_at_bound();
  if (!cause_set_ && ending.bad && file_at_bound) {
    settle(OutcomeKind::kDisk,
           fmt::format("the guest failed with a file of {}, as large as one may be", to_text(plan_.limits.disk)));
  }
  if (!cause_set_ && ending.bad && scratch_full_) {
    settle(OutcomeKind::kDisk,
           inodes_used_up_ ? fmt::format("the guest failed with its {} inodes used up", plan_.limits.inodes)
                           : fmt::format("the guest failed with its {} of disk used up", to_text(plan_.limits.disk)));
  }
  if (!cause_set_ && ending.bad && counted.forks_refused > 0) {
    settle(OutcomeKind::kPids,
           fmt::format("the guest failed after {} {} refused at {} processes", counted.forks_refused,
                       counted.forks_refused == 1 ? "fork was" : "forks were", plan_.limits.pids));
  }
  for (const OutputPump* pump : {out_pump_.get(), err_pump_.get()}) {
    if (cause_set_ || pump == nullptr || pump->lost() == 0) continue;
    settle(OutcomeKind::kFailed,
           fmt::format("the guest's output could not be written: {}", std::strerror(pump->lost())));
    outcome.hint = "make room where the output goes";
  }
  if (!cause_set_ && ending.signal != 0)
    settle(OutcomeKind::kSignaled, fmt::format("the guest died of signal {}", ending.signal));
  if (!cause_set_) settle(OutcomeKind::kExited, fmt::format("the guest ended with code {}", ending.code));
  if (outcome.kind == OutcomeKind::kNetwork) outcome.network_limit = network_limit_;
  deny_by_limit("limits.pids", "fork refused", counted.forks_refused);
  deny_by_limit("limits.memory", "killed for memory", counted.oom_kills);
  if (scratch_full_ && outcome.kind != OutcomeKind::kDisk) {
    deny_by_limit(inodes_used_up_ ? "limits.inodes" : "limits.disk", "used up at the guest's end", 1);
  } else if (file_at_bound && outcome.kind != OutcomeKind::kDisk) {
    deny_by_limit("limits.disk", "a file was as large as one may be at the guest's end", 1);
  }
}

void Run::try_finish() {
  if (state_ != State::kFlushing) return;
  for (const OutputPump* pump : {out_pump_.get(), err_pump_.get()}) {
    if (pump != nullptr && (pump->source_open() || !pump->flushed())) return;
  }
  if (way_out_ && !way_out_->finished()) return;
  if (disk_ && !disk_->done()) return;
  finish();
}

void Run::finish() {
  if (state_ == State::kDone) return;
  state_ = State::kDone;
  if (has_cell_) settle_outcome();
  cancel_watch_.reset();
  resize_watch_.reset();
  pidfd_watch_.reset();
  control_watch_.reset();
  terminal_.reset();
  close_control();
  wiring_.way_out.reset();  // if no cell came of it
  if (way_out_) {
    way_out_->close();
    report_.network = way_out_->record();
    if (!way_out_->complete()) report_.denials.push_back({"gateway", "it ended before it had told everything", 1});
  }
  if (!started_) report_.observed.clear();
  explain_denials();
  // A program that could not be executed proposes nothing.
  if (scratch_.valid() && started_ && report_.outcome.kind != OutcomeKind::kRefused && wiring_.on_scratch) {
    wiring_.on_scratch({std::move(scratch_), std::move(cell_.image), std::move(cell_.disk), copied_at_});
  }
  scratch_.reset();
  disk_.reset();
  cell_.cgroup.remove();
  for (WorkDirectory* directory : {&cell_.work, &cell_.disk}) {
    if (Status removed = directory->remove(); !removed)
      report_.denials.push_back({"clean-up", removed.error().text(), 1});
  }
  report_.lifecycle.emplace_back("dispose");
  report_.out = {out_ring_.tail(), report_.usage.stdout_bytes, report_.usage.stdout_bytes > out_ring_.tail().size()};
  report_.err = {err_ring_.tail(), report_.usage.stderr_bytes, report_.usage.stderr_bytes > err_ring_.tail().size()};
  timeline_.until("dispose", Clock::now());
  report_.timing = timeline_.take();
  done_(*this, std::move(report_));
}

}  // namespace cloche
