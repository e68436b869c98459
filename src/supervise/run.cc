#include "supervise/run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "supervise/compare_grants.h"
#include "supervise/step_failure.h"
#include "sys/channel.h"
#include "wire/wire.h"

namespace cloche {
namespace {

constexpr Millis kRekillAfter{1'000};
constexpr Millis kUnwatched{5};  // until the end of an init that nothing tells of is looked for
constexpr Millis kShortestCpuCheck{10};

void send_signal(const Fd& pidfd, int signal) {
  constexpr long kPidfdSendSignal = 424;
  if (pidfd.valid()) ::syscall(kPidfdSendSignal, pidfd.get(), signal, nullptr, 0);
}

// A few milliseconds at most, most of which the cell's preparation took.
void wait_for_tick(const timespec& moment) {
  constexpr timespec kPause{0, 500'000};
  for (timespec tick{}; ::clock_gettime(CLOCK_REALTIME_COARSE, &tick) == 0; ::nanosleep(&kPause, nullptr)) {
    if (tick.tv_sec > moment.tv_sec || (tick.tv_sec == moment.tv_sec && tick.tv_nsec > moment.tv_nsec)) return;
    if (moment.tv_sec - tick.tv_sec > 1) return;  // the clock was set back
  }
}

void empty_descriptor(int fd) {
  char bytes[512];
  (void)!::read(fd, bytes, sizeof bytes);
}

// How often the caller asked, by whichever descriptor it uses: an eventfd counts, a signalfd gives a record each.
std::uint64_t count_requests(int fd) {
  alignas(std::uint64_t) char bytes[4 * sizeof(signalfd_siginfo)];
  const ssize_t n = ::read(fd, bytes, sizeof bytes);
  if (n == sizeof(std::uint64_t)) {
    std::uint64_t count = 0;
    std::memcpy(&count, bytes, sizeof count);
    return count;
  }
  return n <= 0 ? 0 : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(n) / sizeof(signalfd_siginfo));
}

}  // namespace

Run::Run(Poller& poller, std::shared_ptr<const Plan> plan, RunWiring wiring, std::string id, Done done)
    : poller_(poller),
      shared_plan_(std::move(plan)),
      plan_(*shared_plan_),
      wiring_(std::move(wiring)),
      done_(std::move(done)),
      out_ring_(wiring_.tail_bytes),
      err_ring_(wiring_.tail_bytes) {
  report_.id = std::move(id);
  report_.tier = to_string(plan_.tier);
  report_.backend = to_string(plan_.backend);
  report_.policy = plan_.policy_name;
  report_.observed = filter::to_string(plan_.watch);
  report_.argv = wiring_.argv.empty() ? plan_.argv : wiring_.argv;
  report_.weakenings = plan_.weakenings;
}

void Run::begin(Result<Cell> cell, Clock::time_point asked) {
  timeline_.begin(asked);
  report_.lifecycle.emplace_back("prepare");
  if (!cell) {
    fail_run(cell.error());
    finish();
    return;
  }
  cell_ = std::move(*cell);
  cell_.argv = std::move(wiring_.argv);
  has_cell_ = true;
  prepare_deadline_ = Clock::now() + kPrepareLimit;
  Status watched = watch_everything();
  if (watched && plan_.gateway) watched = open_way_out();
  if (!watched) {
    fail_run(watched.error());
    kill_now();
  }
  if (!looked_at()) ahead_ = look_ahead(cell_.cgroup, plan_.cgroup);
  if (plan_.watch != filter::Watch::kNothing) {
    observer_ =
        std::make_unique<Observer>(plan_, Observer::Wants{wiring_.on_seen != nullptr, [this](const Error& error) {
                                                            fail_run(error);
                                                            kill_now();
                                                          }});
  }
  if (cell_.process.leased) timeline_.until("take", Clock::now());
  if (cell_.parked && state_ == State::kPreparing) {
    on_watched(std::move(cell_.parked->notifier));
    on_ready(cell_.parked->guest, cell_.parked->probe);
  } else {
    use_the_wait();
  }
}

Status Run::watch_everything() {
  CLOCHE_TRY_ASSIGN(pidfd_watch_,
                    poller_.watch(cell_.process.pidfd.get(), EPOLLIN, [this](std::uint32_t) { on_init_ended(); }));
  CLOCHE_TRY_ASSIGN(control_watch_,
                    poller_.watch(cell_.process.control.get(), EPOLLIN, [this](std::uint32_t) { on_control(); }));
  if (wiring_.cancel_fd >= 0) {
    CLOCHE_TRY_ASSIGN(cancel_watch_,
                      poller_.watch(wiring_.cancel_fd, EPOLLIN, [this](std::uint32_t) { on_cancel_readable(); }));
  }
  auto pump = [&](Fd source, int fd, auto callback, Ring& ring, std::uint64_t& total) {
    return std::make_unique<OutputPump>(
        poller_, std::move(source), OutputPump::Sink{fd, std::move(callback)},
        [this, &ring, &total](std::string_view chunk) { return meter(ring, total, chunk); }, [this] { try_finish(); });
  };
  // With a terminal the guest's output comes from its master, which init sends; the pipes stay unused.
  if (!plan_.tty) {
    out_pump_ = pump(std::move(cell_.out), wiring_.out_fd, wiring_.on_out, out_ring_, report_.usage.stdout_bytes);
    err_pump_ = pump(std::move(cell_.err), wiring_.err_fd, wiring_.on_err, err_ring_, report_.usage.stderr_bytes);
    CLOCHE_TRY(out_pump_->start());
    CLOCHE_TRY(err_pump_->start());
    if (cell_.in.valid()) {
      in_pump_ = std::make_unique<InputPump>(poller_, wiring_.stdin_fd, std::move(cell_.in));
      CLOCHE_TRY(in_pump_->start());
    }
  }
  oom_event_ = std::move(cell_.oom);
  if (!oom_event_.valid()) {
    CLOCHE_TRY_ASSIGN(oom_event_, cell_.cgroup.watch_oom());
  }
  if (oom_event_.valid()) {
    CLOCHE_TRY_ASSIGN(oom_watch_, poller_.watch(oom_event_.get(), EPOLLIN, [this](std::uint32_t) {
      // The kernel tells before it picks its one victim; what it picks does not matter, the whole cell goes (59).
      empty_descriptor(oom_event_.get());
      set_cause(OutcomeKind::kOom, fmt::format("the cell used more than {} of memory", to_text(plan_.limits.memory)));
      kill_now();
    }));
  }
  return {};
}

std::size_t Run::meter(Ring& ring, std::uint64_t& total, std::string_view chunk) {
  const std::uint64_t before = report_.usage.stdout_bytes + report_.usage.stderr_bytes;
  const std::uint64_t room = plan_.limits.output.count - std::min(before, plan_.limits.output.count);
  const auto pass = static_cast<std::size_t>(std::min<std::uint64_t>(room, chunk.size()));
  ring.append(chunk.substr(0, pass));
  if (before == 0 && !chunk.empty()) first_output_ = Clock::now();
  total += chunk.size();
  if (pass < chunk.size()) {
    // Also when the guest has ended meanwhile: what it wrote is cut, so it did not end well.
    if (!cause_set_) {
      cause_set_ = true;
      report_.outcome.kind = OutcomeKind::kOutput;
      report_.outcome.message = fmt::format("the guest wrote more than {} of output", to_text(plan_.limits.output));
    }
    kill_now();
  }
  return pass;
}

void Run::on_control() {
  for (;;) {
    wire::Message message{};
    auto received = sys::receive_bytes(cell_.process.control.get(), &message, sizeof message);
    if (!received) {
      fail_run(received.error());
      kill_now();
      return;
    }
    if (!*received) return;
    if ((*received)->size != sizeof message) {
      control_watch_.reset();  // closed: the pidfd tells the rest
      return;
    }
    // Its first word shows that the exec is behind it and our memory no longer shared.
    if (cell_.process.memory) {
      timeline_.until("spawn", cell_.process.memory->times.born);
      timeline_.until("namespaces", cell_.process.memory->times.apart);
      timeline_.until("init", cell_.greeted);
      cell_.process.memory.reset();
    }
    cell_.process.stack = ChildStack();
    cell_.doors = {};
    switch (message.kind) {
      case wire::MessageKind::kHello:
        timeline_.until("init", message.stamp);
        break;
      case wire::MessageKind::kBuilt:
        look_at_view(cell_.process.pid, ahead_);
        break;
      case wire::MessageKind::kReady:
        if (cell_.process.leased) message.took[wire::kWaiting] = 0;  // it waited for a run, not in one
        timeline_.add_phases(message.took, message.stamp);
        on_watched(std::move((*received)->fd));
        on_ready((*received)->sender, message.probe);
        break;
      case wire::MessageKind::kFailed:
        on_failed(message.step, message.error);
        break;
      case wire::MessageKind::kStarted:
        timeline_.until("exec", message.started);
        break;
      case wire::MessageKind::kExited:
        on_exited(message);
        // The keeper, init's parent, sees to init itself. That nobody is left is init's word only: it is killed when
        // the cell is let go, and with it whoever else there may be.
        if ((message.probe & wire::kAlone) != 0 && cell_.process.leased) {
          on_cell_empty();
          return;
        }
        break;
      case wire::MessageKind::kTty:
        on_terminal(std::move((*received)->fd));
        break;
      case wire::MessageKind::kScratchIs:
        // Before there is a guest, and once.
        if (state_ != State::kPreparing || scratch_.valid()) break;
        scratch_ = std::move((*received)->fd);
        copied_at_ = message.amount;
        break;
      case wire::MessageKind::kListener:
        on_listener(message, std::move((*received)->fd));
        break;
      case wire::MessageKind::kCopying:
        // As long as it gets on, it may take its time.
        if (state_ == State::kPreparing) prepare_deadline_ = Clock::now() + kPrepareLimit;
        if (wiring_.on_copying) wiring_.on_copying(message.amount);
        break;
      default:
        break;
    }
  }
}

void Run::on_terminal(Fd master) {
  terminal_ = std::move(master);
  Status ok = sys::set_nonblocking(terminal_.get());
  const int copy = ::fcntl(terminal_.get(), F_DUPFD_CLOEXEC, 3);
  out_pump_ = std::make_unique<OutputPump>(
      poller_, Fd(copy), OutputPump::Sink{wiring_.out_fd, wiring_.on_out},
      [this](std::string_view chunk) { return meter(out_ring_, report_.usage.stdout_bytes, chunk); },
      [this] { try_finish(); });
  if (ok) ok = out_pump_->start();
  if (ok && wiring_.stdin_fd >= 0) {
    in_pump_ = std::make_unique<InputPump>(poller_, wiring_.stdin_fd, terminal_.get());
    ok = in_pump_->start();
  }
  if (ok && wiring_.resize_fd >= 0) {
    auto watch = poller_.watch(wiring_.resize_fd, EPOLLIN, [this](std::uint32_t) {
      empty_descriptor(wiring_.resize_fd);
      winsize size{};
      if (::ioctl(wiring_.terminal_fd, TIOCGWINSZ, &size) == 0) ::ioctl(terminal_.get(), TIOCSWINSZ, &size);
    });
    if (watch) resize_watch_ = std::move(*watch);
  }
  if (!ok) {
    fail_run(ok.error());
    kill_now();
  }
}

// The guest-to-be, whose word this is, is under the filter already and has yet to become the guest.
void Run::on_watched(Fd notifier) {
  if (!observer_ || observer_->listens()) return;
  if (Status listens = observer_->listen(poller_, std::move(notifier), cell_.process.pid); !listens) {
    fail_run(listens.error());
    kill_now();
  }
}

Result<std::vector<ReceiptLine>> Run::read_receipt(int guest, std::uint32_t probe) {
  if (looked_at()) {
    Parked& parked = *cell_.parked;
    return parked.plan == shared_plan_ ? std::move(parked.receipt) : judge(plan_, *parked.seen);
  }
  CLOCHE_TRY_ASSIGN(const Transcript text, look(guest, ahead_));
  CLOCHE_TRY_ASSIGN(Inspection seen, inspect(cell_, probe, text));
  if (way_out_) add_gateway(seen);
  CLOCHE_TRY(compare_grants(guest, plan_.grants, cell_.grants));
  return judge(plan_, seen);
}

void Run::on_ready(int sender, std::uint32_t probe) {
  if (state_ != State::kPreparing) return;
  auto receipt = read_receipt(sender, probe);
  if (receipt) {
    report_.receipt = std::move(*receipt);
  } else if (wiring_.verify) {
    fail_run(receipt.error());
    kill_now();
    return;
  }
  timeline_.until("read-back", Clock::now());
  if (!DiskWatch::is_needed(plan_)) {
    start_guest();
  } else if (Status watched = begin_disk_watch(sender); !watched) {
    fail_run(watched.error());
    kill_now();
  }
}

void Run::start_guest() {
  if (wiring_.not_before) wait_for_tick(*wiring_.not_before);
  report_.lifecycle.emplace_back("start");
  Status went = way_out_ ? way_out_->serve() : Status{};
  if (went) went = send_go(plan_, cell_);
  if (!went) {
    fail_run(went.error());
    kill_now();
    return;
  }
  prepare_deadline_ = Clock::time_point::max();
  state_ = State::kRunning;
  started_ = true;
  started_at_ = Clock::now();
  report_.lifecycle.emplace_back("run");
  if (plan_.wall) wall_deadline_ = started_at_ + *plan_.wall;
  if (plan_.limits.cpu_time && cell_.cgroup.counts_cpu()) cpu_check_ = started_at_ + kShortestCpuCheck;
  if (disk_) disk_->start(started_at_);
  open_control();
  use_the_wait();
}

void Run::use_the_wait() {
  if (const auto work = std::exchange(wiring_.on_waiting, {})) work();
}

void Run::on_failed(int step, int error) {
  const auto index = static_cast<std::size_t>(step);
  if (step >= 0 && index < plan_.steps.size() && wiring_.on_step_failed) {
    wiring_.on_step_failed(plan_.steps[index].kind, error);
  }
  if (observer_ && started_) observer_->note_program();
  fail_run(explain_failure(plan_, step, error));
  kill_now();
}

void Run::on_exited(const wire::Message& message) {
  // A guest-to-be that could not even say what failed is no guest that ended.
  if (!started_) return;
  // Init's word, and init is under the guest's limits: no figure of it may be more than time can be.
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max() / 4;
  report_.usage.cpu_user = std::chrono::microseconds(std::min(message.cpu_user_us, kMost));
  report_.usage.cpu_system = std::chrono::microseconds(std::min(message.cpu_system_us, kMost));
  report_.usage.memory_peak = kibibytes(message.max_rss_kib);
  // On tier 0 what init looked at is the host's.
  scratch_full_ = plan_.tier != Tier::kProcess && (message.probe & wire::kScratchFull) != 0;
  inodes_used_up_ = scratch_full_ && (message.probe & wire::kInodesUsedUp) != 0;
  if ((message.probe & wire::kAlone) != 0) counted_ = cell_.cgroup.usage();  // nobody is left who could use more
  exit_seen_ = true;
  exit_status_ = message.status;
  timeline_.until("exec", message.started);
  if (first_output_ != Clock::time_point{}) timeline_.beside(kFirstOutput, first_output_);
  timeline_.until("guest", message.stamp);
}

void Run::on_cancel_readable() {
  const std::uint64_t asked = count_requests(wiring_.cancel_fd);
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(asked, 2); ++i) cancel();
}

void Run::cancel() {
  ++cancels_;
  set_cause(OutcomeKind::kCancelled, "the caller cancelled the run");
  if (state_ == State::kFlushing) {
    // Nobody takes the output: give up on it.
    if (disk_) disk_->stop();
    if (out_pump_) out_pump_->stop();
    if (err_pump_) err_pump_->stop();
    try_finish();
    return;
  }
  if (cancels_ > 1) {
    kill_now();
  } else {
    terminate();
  }
}

void Run::set_cause(OutcomeKind kind, std::string message) {
  if (cause_set_ || exit_seen_) return;  // first cause wins
  cause_set_ = true;
  report_.outcome.kind = kind;
  report_.outcome.message = std::move(message);
}

void Run::fail_run(const Error& error) {
  if (cause_set_) return;
  set_cause(error.code != ErrorCode::kSystem && error.code != ErrorCode::kInternal ? OutcomeKind::kRefused
                                                                                   : OutcomeKind::kFailed,
            error.message);
  report_.outcome.step = error.step;
  report_.outcome.hint = error.hint;
  if (error.errno_value != 0) {
    Error plain;
    plain.message = error.message;
    plain.errno_value = error.errno_value;
    report_.outcome.message = plain.text();
  }
}

void Run::terminate() {
  if (state_ == State::kPreparing) {
    kill_now();  // init cannot pass signals on yet
    return;
  }
  if (state_ != State::kRunning) return;
  state_ = State::kTerminating;
  report_.lifecycle.emplace_back(report_.outcome.kind == OutcomeKind::kWall ? "time-out" : "cancel");
  grace_deadline_ = Clock::now() + plan_.limits.grace;
  wall_deadline_ = Clock::time_point::max();
  if (!send_terminate(cell_, SIGTERM)) kill_now();
}

void Run::kill_now() {
  if (!has_cell_ || init_ended_) return;
  wall_deadline_ = grace_deadline_ = prepare_deadline_ = Clock::time_point::max();
  state_ = State::kKilling;
  if (plan_.tier == Tier::kProcess && !kill_sent_) {
    // No pid namespace: init walks its tree, the cgroup takes whoever it missed, and only then init itself goes.
    (void)send_terminate(cell_, SIGKILL);
    cell_.cgroup.kill();
    if (!started_ || !cell_.cgroup.empty()) send_signal(cell_.process.pidfd, SIGKILL);
  } else {
    send_signal(cell_.process.pidfd, SIGKILL);
    cell_.cgroup.kill();
  }
  kill_sent_ = true;
  if (!killed_at_) killed_at_ = Clock::now();
  rekill_ = Clock::now() + (pidfd_watch_.active() ? kRekillAfter : kUnwatched);
}

void Run::check_cpu(Clock::time_point now) {
  const auto used = cell_.cgroup.cpu_us();
  if (!used || !plan_.limits.cpu_time) {
    cpu_check_ = now + kRekillAfter;  // unreadable for the moment: not a reason to ask without pause
    return;
  }
  const auto limit = static_cast<std::uint64_t>(plan_.limits.cpu_time->count()) * 1000;
  if (*used >= limit) {
    cpu_check_ = Clock::time_point::max();
    set_cause(OutcomeKind::kCpu,
              fmt::format("the cell used more than {} of cpu time", to_text(*plan_.limits.cpu_time)));
    kill_now();
    return;
  }
  // The limit cannot be reached sooner than all allowed cpus can burn what is left.
  const auto left = std::chrono::microseconds(
      static_cast<std::int64_t>(static_cast<double>(limit - *used) / std::max(plan_.limits.cpus, 0.01)));
  cpu_check_ = now + std::max<Clock::duration>(left, kShortestCpuCheck);
}

Clock::time_point Run::next_deadline() const {
  const auto way_out = way_out_ ? way_out_->next_deadline() : Clock::time_point::max();
  const auto disk = disk_ ? disk_->next() : Clock::time_point::max();
  return std::min({prepare_deadline_, wall_deadline_, grace_deadline_, cpu_check_, rekill_, way_out, disk});
}

void Run::on_time(Clock::time_point now) {
  if (state_ == State::kDone) return;
  if (now >= prepare_deadline_) {
    fail_run(
        {ErrorCode::kSystem, "prepare", 0, "the cell was not ready in time", "the host may be overloaded: try again"});
    kill_now();
  }
  if (now >= wall_deadline_) {
    wall_deadline_ = Clock::time_point::max();
    set_cause(OutcomeKind::kWall, fmt::format("the wall clock of {} ran out", to_text(*plan_.wall)));
    terminate();
  }
  if (now >= grace_deadline_) kill_now();
  if (now >= cpu_check_) check_cpu(now);
  if (way_out_) way_out_->on_time(now);
  if (disk_ && now >= disk_->next()) check_disk(now);
  if (now >= rekill_) {
    // Tier 0 gave init a moment to end its tree; whoever is left now is ended from here.
    send_signal(cell_.process.pidfd, SIGKILL);
    cell_.cgroup.kill();
    rekill_ = now + (pidfd_watch_.active() ? kRekillAfter : kUnwatched);
    // Without room in epoll nobody else would ever tell that it has ended.
    if (!pidfd_watch_.active()) on_init_ended();
  }
}

}  // namespace cloche
