// Runtime: the library's door. A queue and one thread around a Supervisor; the thread is the parent of every cell, so
// that no cell dies because some other thread of the host program ends.
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "cloche/cloche.h"
#include "engine/change_inbox.h"
#include "engine/engine.h"
#include "engine/network_events.h"
#include "engine/own_places.h"
#include "engine/plan_cache.h"
#include "engine/program.h"
#include "engine/script.h"
#include "engine/workspace_run.h"
#include "host/probe.h"
#include "keeper/starter.h"
#include "plan/steps.h"
#include "policy/ceiling.h"
#include "report/json.h"
#include "sys/file.h"

extern "C" char** environ;

namespace cloche {

struct RunHandle::State {
  std::string id;
  Fd cancel;                             // eventfd; each write is one cancel
  Fd input;                              // memfd with the guest's stdin
  std::shared_ptr<ChangeInbox> changes;  // for runs with a way out
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  bool done = false;
  RunResult result;

  std::expected<void, std::string> change(WayOut::Turn turn, const LiveGrant& grant) const {
    if (!changes) return std::unexpected("the run has no gateway, so nothing can be granted to it or taken back");
    egress::Change change{static_cast<egress::Change::What>(grant.kind), grant.text, {}};
    if (turn == WayOut::Turn::kGrant && grant.lasts.count() != 0) change.lasts = grant.lasts;
    if (const Status made = changes->ask(turn, change); !made) return std::unexpected(made.error().text());
    return {};
  }

  void finish(const Report& report) {
    if (changes) changes->close();
    RunResult made = {report.id,
                      std::string(to_string(report.outcome.kind)),
                      report.outcome.message,
                      report.outcome.hint,
                      exit_code(report.outcome),
                      report.out.tail,
                      report.err.tail,
                      to_json(report)};
    {
      std::lock_guard lock(mutex);
      result = std::move(made);
      done = true;
    }
    changed.notify_all();  // not before the lock is free, for which whoever wakes would wait again
  }
};

const std::string& RunHandle::id() const { return state_->id; }

RunResult RunHandle::wait() const {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->done; });
  return state_->result;
}

bool RunHandle::done() const {
  std::lock_guard lock(state_->mutex);
  return state_->done;
}

void RunHandle::cancel() const {
  if (state_->cancel.valid()) ::eventfd_write(state_->cancel.get(), 1);
}

static_assert(static_cast<int>(LiveGrant::Kind::kSecret) == static_cast<int>(egress::Change::What::kSecret) &&
              static_cast<int>(LiveGrant::Kind::kSocket) == static_cast<int>(egress::Change::What::kSocket));

std::expected<void, std::string> RunHandle::grant(const LiveGrant& grant) const {
  return state_->change(WayOut::Turn::kGrant, grant);
}

std::expected<void, std::string> RunHandle::revoke(const LiveGrant& grant) const {
  return state_->change(WayOut::Turn::kRevoke, grant);
}

struct Runtime::State {
  struct Job {
    PolicyHandle policy;
    RunRequest request;
    std::shared_ptr<RunHandle::State> handle;
  };

  HostFacts host;
  std::optional<Ceiling> ceiling;  // the operator's, which no policy exceeds
  std::size_t tail_bytes = 0;
  pid_t keeper_pid = -1;
  std::shared_ptr<keeper::Client> keeper;
  Fd wake;
  std::mutex mutex;
  std::deque<Job> queue;
  bool stopping = false;
  std::atomic<std::size_t> active{0};
  PlanCache plans;
  bool used_up = false;  // a run ended: what it used can be replaced
  std::thread thread;
  std::string state_directory;
  std::vector<std::weak_ptr<RunHandle::State>> apart;  // runs with a thread of their own
  WorkspaceThreads workspaces;

  static bool is_program(const Job& job) {
    return job.policy.value().workspace.path.empty() && job.request.language.empty() && job.request.script.empty() &&
           !job.request.argv.empty();
  }
  void loop();
  void launch(Supervisor& supervisor, Job job);
  void launch_apart(Job job);
  static void refuse(const Job& job, const Error& error);
  RunWiring wire(Job& job) const;
  Result<std::shared_ptr<const Plan>> plan_for(const Job& job);
  Result<Request> to_request(const Job& job) const;
};

Result<Request> Runtime::State::to_request(const Job& job) const {
  Request out;
  out.id = job.handle->id;
  out.argv = job.request.argv;
  out.cancellable = job.request.cancellable;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view pair(*entry);
    const std::size_t equals = pair.find('=');
    if (equals != std::string_view::npos) out.env.emplace(pair.substr(0, equals), pair.substr(equals + 1));
  }
  if (auto home = out.env.find("HOME"); home != out.env.end()) out.home = home->second;
  const Policy& policy = job.policy.value();
  const std::vector<std::string> exec_grants = expand_home(policy.files.exec, out.home);
  if (!job.request.language.empty() || !job.request.script.empty()) {
    CLOCHE_TRY_ASSIGN(out.script, script_from_text(job.request.script, job.request.language,
                                                   {.memory = policy.limits.memory, .exec_grants = exec_grants}));
    return out;
  }
  if (out.argv.empty()) return fail(ErrorCode::kInvalidInput, "request", "neither a program nor a script was given");
  CLOCHE_TRY_ASSIGN(out.program, resolve_program(out.argv.front(), {.exec_grants = exec_grants, .cwd = "/"}));
  return out;
}

Result<std::shared_ptr<const Plan>> Runtime::State::plan_for(const Job& job) {
  const Policy& policy = job.policy.value();
  if (ceiling) CLOCHE_TRY(enforce(policy, *ceiling));
  if (is_program(job)) {
    const char* home = std::getenv("HOME");
    const auto exec_grants = expand_home(policy.files.exec, home != nullptr ? home : "");
    auto program = resolve_program(job.request.argv.front(), {.exec_grants = exec_grants, .cwd = "/"});
    if (!program) return std::unexpected(program.error());
    if (auto known = plans.find(job.policy, job.request, *program, environ)) return known;
  }
  CLOCHE_TRY_ASSIGN(const Request request, to_request(job));
  HostFacts facts = host;
  Request looked = request;
  if (!state_directory.empty()) looked.env["CLOCHE_STATE_DIR"] = state_directory;
  complete_facts(facts, policy, looked);
  CLOCHE_TRY_ASSIGN(Plan made, make_plan(policy, request, facts));
  CLOCHE_TRY(make_hidden(made, looked.env));
  auto plan = std::make_shared<const Plan>(std::move(made));
  // What is to be hidden in a grant may come and go between two runs.
  if (is_program(job) && !holds_own_place(*plan, facts)) plans.keep(job.policy, job.request, environ, plan);
  return plan;
}

void Runtime::State::refuse(const Job& job, const Error& error) {
  Request plain;
  plain.id = job.handle->id;
  plain.argv = job.request.argv;
  job.handle->finish(refusal(plain, job.policy.value(), error));
}

RunWiring Runtime::State::wire(Job& job) const {
  RunWiring wiring;
  wiring.cancel_fd = job.handle->cancel.get();
  wiring.stdin_fd = job.handle->input.valid() ? job.handle->input.get() : -1;
  wiring.on_out = std::move(job.request.on_stdout);
  wiring.on_err = std::move(job.request.on_stderr);
  tell_network(wiring, std::move(job.request.on_network));
  wiring.control = job.handle->changes;
  wiring.tail_bytes = tail_bytes;
  return wiring;
}

// Keeping what a guest wrote takes as long as it takes: not on the thread that everybody shares.
void Runtime::State::launch_apart(Job job) {
  const Policy& policy = job.policy.value();
  auto request = to_request(job);
  if (request && ceiling) {
    if (Status within = enforce(policy, *ceiling); !within) request = std::unexpected(within.error());
  }
  if (!request) {
    refuse(job, request.error());
    return;
  }
  if (!state_directory.empty()) request->env["CLOCHE_STATE_DIR"] = state_directory;
  RunWiring wiring = wire(job);
  ++active;
  workspaces.start([this, policy = job.policy, handle = job.handle, request = std::move(*request),
                    wiring = std::move(wiring)]() mutable {
    const bool kept = !policy.value().workspace.path.empty();
    const Report report = kept ? run_with_workspaces(policy.value(), request, host, std::move(wiring))
                               : run_with_way_out(policy.value(), request, host, std::move(wiring));
    --active;
    handle->finish(report);
  });
  std::lock_guard lock(mutex);
  std::erase_if(apart, [](const std::weak_ptr<RunHandle::State>& one) { return one.expired(); });
  apart.push_back(job.handle);
}

void Runtime::State::launch(Supervisor& supervisor, Job job) {
  const Policy& policy = job.policy.value();
  if (!policy.workspace.path.empty() || policy.needs_gateway()) {
    launch_apart(std::move(job));
    return;
  }
  auto plan = plan_for(job);
  if (!plan) {
    refuse(job, plan.error());
    return;
  }
  RunWiring wiring = wire(job);
  if (is_program(job)) {
    wiring.argv = std::move(job.request.argv);
    wiring.repeats = true;
  }
  ++active;
  supervisor.add(std::move(*plan), std::move(wiring), job.handle->id, [this, handle = job.handle](const Report& done) {
    --active;
    handle->finish(done);
    used_up = true;
  });
}

void Runtime::State::loop() {
  // A guest that leaves its input unread would end the host program by SIGPIPE; a blocked one makes write say EPIPE.
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
  auto supervisor = Supervisor::make(host, keeper ? starter_with(keeper, false) : Starter(start_cell));
  Poller::Watch wake_watch;
  if (supervisor) {
    auto watch = (*supervisor)->poller().watch(wake.get(), EPOLLIN, [this](std::uint32_t) {
      eventfd_t ignored = 0;
      ::eventfd_read(wake.get(), &ignored);
    });
    if (watch) wake_watch = std::move(*watch);
  }
  Poller::Watch orders_watch;
  if (supervisor && keeper) {
    auto watch = (*supervisor)->poller().watch(keeper->descriptor(), EPOLLIN, [&](std::uint32_t) {
      keeper->receive_orders();
      if (!keeper->connected()) orders_watch.reset();
    });
    if (watch) orders_watch = std::move(*watch);
  }
  for (;;) {
    std::deque<Job> jobs;
    {
      std::lock_guard lock(mutex);
      if (stopping) break;
      jobs.swap(queue);
    }
    for (Job& job : jobs) {
      if (supervisor) {
        launch(**supervisor, std::move(job));
      } else {
        Request plain;
        plain.id = job.handle->id;
        job.handle->finish(refusal(plain, job.policy.value(), supervisor.error()));
      }
    }
    auto until = Clock::time_point::max();
    if (keeper) {
      // Not while a run begins or goes on: it would wait for what the next one needs.
      if (std::exchange(used_up, false)) keeper->top_up();
      until = keeper->tidy(Clock::now());
    }
    if (!supervisor || !(*supervisor)->step(until)) {
      eventfd_t ignored = 0;
      ::eventfd_read(wake.get(), &ignored);  // blocks: nothing can run, so only new jobs matter
    }
  }
  if (!supervisor) return;
  // Whatever still runs is killed, and its handle told.
  (*supervisor)->kill_all();
  while ((*supervisor)->active() > 0) {
    if (!(*supervisor)->step(Clock::time_point::max())) break;
  }
}

Runtime::Runtime() : state_(std::make_unique<State>()) {}

std::expected<std::unique_ptr<Runtime>, std::string> Runtime::create(const RuntimeOptions& options) {
  std::unique_ptr<Runtime> out(new Runtime);
  State& state = *out->state_;
  ProbeOptions probing = probe_options_from_environment();
  if (!options.init_path.empty()) probing.init_override = options.init_path;
  state.host = probe(probing);
  state.tail_bytes = options.tail_bytes;
  state.state_directory = options.state_directory;
  if (auto text = sys::read_file(kSystemCeiling, 1 << 20)) {
    auto ceiling = parse_ceiling(*text, kSystemCeiling);
    if (!ceiling) return std::unexpected(ceiling.error().text());
    state.ceiling = std::move(*ceiling);
  } else if (text.error().errno_value != ENOENT && text.error().errno_value != ENOTDIR) {
    return std::unexpected(text.error().text());
  }
  if (state.host.set_uid_program) return std::unexpected("Cloche refuses to run in a set-uid program");
  if (options.keeper) {
    if (!state.host.init) return std::unexpected("cloche-init was not found, and the keeper beside it");
    auto started =
        keeper::start_private(keeper::program_beside(*state.host.init), {options.keeper_blank, options.keeper_parked});
    if (!started) return std::unexpected(started.error().text());
    state.keeper_pid = started->pid;
    state.keeper = std::make_shared<keeper::Client>(std::move(started->socket));
    if (options.keeper_parked > 0) state.keeper->keep_at_hand(options.keeper_parked);
  }
  state.wake = Fd(::eventfd(0, EFD_CLOEXEC));
  if (!state.wake.valid()) return std::unexpected("no descriptor left for the runtime");
  state.thread = std::thread([&state] { state.loop(); });
  return out;
}

Runtime::~Runtime() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  ::eventfd_write(state_->wake.get(), 1);
  if (state_->thread.joinable()) state_->thread.join();
  // Twice: killed at once.
  for (const auto& one : state_->apart) {
    if (auto handle = one.lock()) ::eventfd_write(handle->cancel.get(), 2);
  }
  state_->workspaces.join();
  if (state_->keeper_pid > 0) {
    // It ends when the other end of its socket is closed, of which a fork of the host program may hold a copy.
    ::shutdown(state_->keeper->descriptor(), SHUT_RDWR);
    state_->keeper.reset();
    while (::waitpid(state_->keeper_pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  for (State::Job& job : state_->queue) {
    Request plain;
    plain.id = job.handle->id;
    job.handle->finish(
        refusal(plain, job.policy.value(), {ErrorCode::kSystem, "runtime", 0, "the runtime was shut down", {}}));
  }
}

RunHandle Runtime::start(const PolicyHandle& policy, RunRequest request) {
  RunHandle handle;
  handle.state_ = std::make_shared<RunHandle::State>();
  auto id = make_run_id();
  handle.state_->id = id.value_or("");
  handle.state_->cancel = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE));
  bool wired = handle.state_->cancel.valid();
  if (!request.input.empty()) {
    auto memfd = sys::make_memfd("cloche-input", request.input);
    wired = wired && memfd && ::lseek(memfd->get(), 0, SEEK_SET) == 0;
    if (memfd) handle.state_->input = std::move(*memfd);
  }
  if (policy.value().needs_gateway()) {
    std::vector<Ceiling> ceilings;
    if (state_->ceiling) ceilings.push_back(*state_->ceiling);
    auto changes = ChangeInbox::make(LiveGrants(policy.value(), ceilings));
    wired = wired && changes;
    if (changes) handle.state_->changes = std::move(*changes);
  }
  if (!id || !wired) {
    Request plain;
    plain.id = handle.state_->id;
    plain.argv = request.argv;
    const Error no_descriptors{ErrorCode::kSystem, "runtime", EMFILE, "no descriptors left for the run",
                               "raise RLIMIT_NOFILE"};
    handle.state_->finish(refusal(plain, policy.value(), id ? no_descriptors : id.error()));
    return handle;
  }
  {
    std::lock_guard lock(state_->mutex);
    state_->queue.push_back({policy, std::move(request), handle.state_});
  }
  ::eventfd_write(state_->wake.get(), 1);
  return handle;
}

std::size_t Runtime::active() const { return state_->active; }

}  // namespace cloche
