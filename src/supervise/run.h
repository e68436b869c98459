// Run: one cell from its first process to its report. A state machine driven by the supervisor's event loop; each step
// of its life happens once, in order, also on failure (K3): prepare, start, run, [time-out or cancel], drain, dispose.
#pragma once

#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "launch/cell.h"
#include "plan/plan.h"
#include "report/report.h"
#include "report/ring.h"
#include "supervise/control.h"
#include "supervise/disk_watch.h"
#include "supervise/look.h"
#include "supervise/observer.h"
#include "supervise/pump.h"
#include "supervise/timeline.h"
#include "supervise/way_out.h"
#include "sys/poller.h"

namespace cloche {

// How a run is connected to its caller; descriptors are borrowed until the report.
struct RunWiring {
  int stdin_fd = -1;
  int out_fd = -1;
  int err_fd = -1;
  int cancel_fd = -1;    // readable: cancel; readable again: kill at once. Read by the run.
  int terminal_fd = -1;  // with a tty: whose size the cell's terminal follows
  int resize_fd = -1;    // readable: the size changed. Read by the run.
  std::function<void(std::string_view)> on_out;
  std::function<void(std::string_view)> on_err;
  std::function<void()> on_waiting = {};  // once, while others are at work: what takes time now delays nobody
  std::size_t tail_bytes = 64 * 1024;
  std::vector<std::string> argv = {};      // in place of the plan's
  bool repeats = false;                    // the plan may be used again
  std::optional<Clock::time_point> asked;  // when the caller began to want this; else now
  // When the guest is gone: what it wrote. For plans that keep it.
  struct Remains {
    Fd scratch;
    DiskImage image;              // behind it, if it lies on the disk; ends with this
    WorkDirectory disk;           // with the changes to workspaces, if they are there; removed with this
    std::uint64_t copied_at = 0;  // when copies were complete, in the clock of file times
  };
  std::function<void(Remains)> on_scratch = {};
  // The guest starts in a later tick of the clock that files get their times from: so what others change after the
  // guest has read it has a later time than this.
  std::optional<timespec> not_before = {};
  // While files are copied into the cell: bytes so far.
  std::function<void(std::uint64_t bytes)> on_copying = {};
  // What was seen of the guest, and the most files that one of its processes had open (0: not known); before the
  // report.
  std::function<void(const std::vector<observe::Sighting>&, std::uint64_t most_open)> on_seen = {};
  // A step of the plan that failed, and errno; before the report.
  std::function<void(wire::StepKind, int)> on_step_failed = {};
  // Runs with a gateway: what goes out, as it happens. A connection is told when it opens and when it is over.
  std::function<void(const Connection&, bool opened)> on_connection = {};
  std::function<void(const Call&)> on_call = {};
  std::function<void(const GrantChange&)> on_change = {};
  // Who may grant and revoke while the guest runs.
  std::shared_ptr<Control> control = nullptr;
  // Taken by the run, for plans with a gateway: it has been started and looked at.
  std::shared_ptr<WayOutParts> way_out = nullptr;
  bool verify = true;  // false only in tests that take a guarantee out
};

class Run {
 public:
  using Done = std::function<void(Run&, Report)>;

  Run(Poller& poller, std::shared_ptr<const Plan> plan, RunWiring wiring, std::string id, Done done);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() { close_control(); }

  // Takes the cell that a tier started, or the error that it gave instead.
  void begin(Result<Cell> cell, Clock::time_point asked);
  // Asks the run to end: TERM, grace, KILL. A second call kills at once.
  void cancel();

  // A grant of the way out that comes or goes, for whoever `by` names. `done` hears what the gateway says to it, when
  // it does.
  Status change(WayOut::Turn turn, const egress::Change& change, std::string by, WayOut::Changed done);

  // When on_time() wants to be called next.
  Clock::time_point next_deadline() const;
  void on_time(Clock::time_point now);

  const std::string& id() const { return report_.id; }

 private:
  static constexpr Millis kPrepareLimit{30'000};
  enum class State { kPreparing, kRunning, kTerminating, kKilling, kFlushing, kDone };

  bool looked_at() const { return cell_.parked && cell_.parked->seen; }
  Status watch_everything();
  Status open_way_out();
  void add_gateway(Inspection& seen) const;
  void open_control();  // once the guest runs
  void close_control();
  void on_listener(const wire::Message& message, Fd socket);
  void on_gateway_problem(const Error& error);
  void on_control();
  void on_init_ended();
  void on_cell_empty();
  void on_ready(int sender, std::uint32_t probe);
  void start_guest();
  void use_the_wait();
  void on_terminal(Fd master);
  void on_watched(Fd notifier);
  void explain_denials();
  void add_unseen_limits();
  void tell_of_interruptions();
  void deny_by_limit(const std::string& key, const std::string& what, std::uint64_t count, std::string program = {});
  void on_failed(int step, int error);
  void on_exited(const wire::Message& message);
  void on_cancel_readable();
  std::size_t meter(Ring& ring, std::uint64_t& total, std::string_view chunk);

  Result<std::vector<ReceiptLine>> read_receipt(int guest, std::uint32_t probe);
  void set_cause(OutcomeKind kind, std::string message);
  void fail_run(const Error& error);
  void terminate();
  void kill_now();
  void check_cpu(Clock::time_point now);
  Status begin_disk_watch(int guest);
  void check_disk(Clock::time_point now);
  void settle_outcome();
  void try_finish();
  void finish();

  Poller& poller_;
  std::shared_ptr<const Plan> shared_plan_;
  const Plan& plan_;
  RunWiring wiring_;
  Done done_;
  Report report_;
  Cell cell_;
  bool has_cell_ = false;
  Ahead ahead_;
  State state_ = State::kPreparing;
  bool cause_set_ = false;
  bool exit_seen_ = false;
  int exit_status_ = 0;
  bool scratch_full_ = false;
  bool inodes_used_up_ = false;
  std::string network_limit_;  // its key
  std::optional<CgroupUsage> counted_;
  bool init_ended_ = false;
  bool kill_sent_ = false;
  bool started_ = false;
  int cancels_ = 0;

  Timeline timeline_;
  Clock::time_point first_output_{};
  Clock::time_point started_at_{};
  Clock::time_point prepare_deadline_ = Clock::time_point::max();
  Clock::time_point wall_deadline_ = Clock::time_point::max();
  Clock::time_point grace_deadline_ = Clock::time_point::max();
  Clock::time_point cpu_check_ = Clock::time_point::max();
  Clock::time_point rekill_ = Clock::time_point::max();
  std::optional<Clock::time_point> killed_at_;

  Ring out_ring_;
  Ring err_ring_;
  std::unique_ptr<OutputPump> out_pump_;
  std::unique_ptr<OutputPump> err_pump_;
  std::unique_ptr<InputPump> in_pump_;
  std::unique_ptr<WayOut> way_out_;
  std::unique_ptr<Observer> observer_;
  std::shared_ptr<Control> control_;  // while it is open
  Fd terminal_;                       // the master of the cell's own pty
  Fd scratch_;
  std::optional<DiskWatch> disk_;
  std::uint64_t copied_at_ = 0;
  Poller::Watch control_watch_;
  Poller::Watch pidfd_watch_;
  Poller::Watch cancel_watch_;
  Poller::Watch resize_watch_;
  Poller::Watch oom_watch_;
  Fd oom_event_;
};

}  // namespace cloche
