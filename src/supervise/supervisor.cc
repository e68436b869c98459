#include "supervise/supervisor.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace cloche {

Result<std::string> make_run_id() {
  constexpr char kAlphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
  unsigned char random[12];
  // No other source would do: an id that two runs share names one cgroup and one directory for both.
  if (::getrandom(random, sizeof random, 0) != static_cast<ssize_t>(sizeof random))
    return fail_errno(errno, "run id", "the kernel gave no random bytes", "allow getrandom in the filter around us");
  std::string out;
  for (unsigned char byte : random) out += kAlphabet[byte % 32];
  return out;
}

Result<std::unique_ptr<Supervisor>> Supervisor::make(HostFacts host, Starter starter, Janitor::Home janitor) {
  std::unique_ptr<Supervisor> out(new Supervisor);
  CLOCHE_TRY_ASSIGN(out->poller_, Poller::make());
  out->host_ = std::move(host);
  out->starter_ = std::move(starter);
  out->janitor_ = std::make_unique<Janitor>(out->host_.init.value_or(""), janitor);
  return out;
}

// Runs own watches of the poller and directories of the janitor.
Supervisor::~Supervisor() { runs_.clear(); }

std::unique_ptr<Janitor> Supervisor::dismiss(std::unique_ptr<Supervisor> supervisor) {
  supervisor->runs_.clear();
  supervisor->janitor_watch_.reset();
  std::unique_ptr<Janitor> out = std::move(supervisor->janitor_);
  supervisor.reset();
  out->dismiss();
  return out;
}

Run* Supervisor::add(std::shared_ptr<const Plan> plan, RunWiring wiring, std::string id,
                     std::function<void(Report)> done) {
  const auto asked = wiring.asked.value_or(Clock::now());
  LaunchContext context{host_, *janitor_, id, wiring.stdin_fd >= 0, 24, 80, wiring.repeats ? plan : nullptr, &early_};
  if (plan->tty && wiring.terminal_fd >= 0) {
    winsize size{};
    if (::ioctl(wiring.terminal_fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0) {
      context.tty_rows = size.ws_row;
      context.tty_cols = size.ws_col;
    }
  }
  Result<Cell> cell = starter_(*plan, context);
  auto run = std::make_unique<Run>(*poller_, std::move(plan), std::move(wiring), id,
                                   [this, done = std::move(done)](Run& ended, Report report) {
                                     done_.push_back(ended.id().empty() ? report.id : ended.id());
                                     done(std::move(report));
                                   });
  Run* raw = run.get();
  runs_.emplace(std::move(id), std::move(run));
  raw->begin(std::move(cell), asked);
  return raw;
}

void Supervisor::kill_all() {
  for (const auto& [id, run] : runs_) {
    run->cancel();
    run->cancel();
  }
}

void Supervisor::release() {
  for (const std::string& id : done_) runs_.erase(id);
  done_.clear();
}

// Without it a kill -9 of the engine would leave the directories of the runs that go on.
void Supervisor::watch_janitor() {
  if (janitor_->births() == watched_birth_) return;
  watched_birth_ = janitor_->births();
  janitor_watch_.reset();
  janitor_end_ = Fd(::fcntl(janitor_->pidfd(), F_DUPFD_CLOEXEC, 0));
  auto watch = poller_->watch(janitor_end_.get(), EPOLLIN, [this](std::uint32_t) {
    janitor_watch_.reset();
    revive_at_ = Clock::now();
  });
  if (watch) janitor_watch_ = std::move(*watch);
}

void Supervisor::revive_janitor(Clock::time_point now) {
  if (now < revive_at_) return;
  constexpr Millis kPause{100};  // for one that nobody can start, or that is killed again and again
  revive_at_ = janitor_->revive() ? Clock::time_point::max() : now + kPause;
}

Status Supervisor::step(Clock::time_point until) {
  release();
  watch_janitor();
  auto deadline = std::min(until, revive_at_);
  for (const auto& [id, run] : runs_) deadline = std::min(deadline, run->next_deadline());
  CLOCHE_TRY(poller_->wait(deadline));
  const auto now = Clock::now();
  revive_janitor(now);
  for (const auto& [id, run] : runs_) {
    if (run->next_deadline() <= now) run->on_time(now);
  }
  if (!holds_ended_) release();
  return {};
}

}  // namespace cloche
