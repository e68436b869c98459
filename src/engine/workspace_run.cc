#include "engine/workspace_run.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

#include "engine/keep.h"
#include "engine/seal_source.h"
#include "plan/steps.h"
#include "report/json.h"
#include "store/record.h"
#include "sys/file.h"
#include "tree/apply.h"

namespace cloche {
namespace {

// Half of an application is nothing for a guest to work on. A directory that cannot be opened is the run's to refuse.
Status end_interrupted(const std::vector<std::string>& workspaces, const store::Place& place) {
  tree::Options options;
  options.key = seal_source([&place] { return Result<store::Place>(place); });
  for (const std::string& workspace : workspaces) {
    const auto root = sys::open_without_symlinks(workspace);
    if (!root) continue;
    if (auto recovered = tree::recover(root->get(), options); !recovered) {
      Error error = recovered.error();
      error.code = ErrorCode::kRefused;
      error.step = "workspace " + workspace + ": " + error.step;
      return std::unexpected(std::move(error));
    }
  }
  return {};
}

// A guest that leaves its input unread would end the host program.
void block_broken_pipe() {
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
}

}  // namespace

Report run_with_way_out(const Policy& policy, const Request& request, HostFacts host, RunWiring wiring) {
  block_broken_pipe();
  complete_facts(host, policy, request);
  HeadStart head;
  head.in_host_program = true;
  return run(policy, request, host, std::move(wiring), std::move(head));
}

Report run_with_workspaces(const Policy& policy, const Request& request, HostFacts host, RunWiring wiring) {
  block_broken_pipe();
  auto place = store::find_place(request.env);
  if (!place) return refusal(request, policy, place.error());
  auto record = store::Record::begin(*place, request.id,
                                     {request.argv, policy.name, std::string(to_string(policy.tier)), {"workspace"}});
  if (!record) return refusal(request, policy, record.error());
  const std::vector<std::string> workspaces = expand_home(policy.workspace.path, request.home);
  Status ready = check_apart(record->path(), workspaces);
  if (ready) ready = end_interrupted(workspaces, *place);
  if (!ready) return refusal(request, policy, ready.error());
  complete_facts(host, policy, request);
  Request placed = request;
  placed.run_directory = canonical_place(record->path());
  HeadStart head;
  head.in_host_program = true;
  Keeping keeping;
  keeping.directory = record->fd();
  Status kept;
  Report report =
      run(policy, placed, host, std::move(wiring), std::move(head),
          [&](const Plan& plan, const Leftovers& left, Report& made) { kept = keep_files(plan, left, keeping, made); });
  const std::string json = to_json(report);
  if (Status ended = record->finish({std::string(to_string(report.outcome.kind)), exit_code(report.outcome)}, json);
      !ended && kept) {
    kept = ended;
  }
  if (!kept) {
    for (WorkspaceChanges& changes : report.workspaces) {
      if (changes.problem.empty()) changes.problem = kept.error().text();
    }
  }
  return report;
}

void WorkspaceThreads::start(std::function<void()> work) {
  sweep();
  auto done = std::make_shared<std::atomic<bool>>(false);
  std::lock_guard lock(mutex_);
  workers_.push_back({std::thread([work = std::move(work), done] {
                        work();
                        *done = true;
                      }),
                      done});
}

void WorkspaceThreads::sweep() {
  std::lock_guard lock(mutex_);
  std::erase_if(workers_, [](Worker& worker) {
    if (!*worker.done) return false;
    worker.thread.join();
    return true;
  });
}

void WorkspaceThreads::join() {
  std::lock_guard lock(mutex_);
  for (Worker& worker : workers_) worker.thread.join();
  workers_.clear();
}

}  // namespace cloche
