#include "cli/learn_run.h"

#include <sys/statvfs.h>

#include <algorithm>

#include "cli/learn_changes.h"
#include "cli/learn_view.h"
#include "engine/engine.h"
#include "learn/item.h"

namespace cloche::cli {
namespace {

void measure(int scratch, learn::Used& used) {
  struct statvfs st{};
  if (::fstatvfs(scratch, &st) != 0) return;
  used.disk = {(st.f_blocks - st.f_bfree) * st.f_frsize};
  used.inodes = st.f_files - st.f_ffree;
}

// A cgroup holds to what is in use, and counts it.
bool memory_by_process(const Report& report) {
  const auto line = std::ranges::find(report.receipt, Guarantee::kMemory, &ReceiptLine::guarantee);
  return line != report.receipt.end() && line->standing != Standing::kHeld;
}

}  // namespace

Result<Request> LearnRuns::request_for(const Policy& policy) {
  if (from_stdin_) return *from_stdin_;
  CLOCHE_TRY_ASSIGN(Request request, make_request(args_, policy, env_));
  if (args_.from_stdin()) from_stdin_ = request;
  return request;
}

LearnTry LearnRuns::run(Policy policy, Observe observe) {
  LearnTry out;
  out.policy = learn::without_writes(std::move(policy), is_directory);
  out.policy.observe = observe;
  out.policy.workspace.scratch = WorkspaceScratch::kMemory;
  ++count_;
  auto request = request_for(out.policy);
  if (!request) {
    out.report = refusal({}, out.policy, request.error());
    return out;
  }
  request->keeps_files = true;  // so that the scratch is still there to be measured
  RunWiring wiring;
  wiring.cancel_fd = cancel_.get();
  wiring.on_out = [&out](std::string_view chunk) { out.out.append(chunk); };
  wiring.on_seen = [&out](const std::vector<observe::Sighting>& seen, std::uint64_t most_open) {
    out.seen = seen;
    out.used.files = most_open;
  };
  HeadStart head;
  head.in_host_program = true;
  out.report = cloche::run(out.policy, *request, probe_for(out.policy, *request), std::move(wiring), std::move(head),
                           [&](const Plan& plan, const Leftovers& left, Report&) {
                             measure(left.scratch.get(), out.used);
                             out.changed = changes_of(plan, left, cancel_.get());
                           });
  out.used.usage = out.report.usage;
  out.used.memory_by_process = memory_by_process(out.report);
  cancelled_ = cancelled_ || out.report.outcome.kind == OutcomeKind::kCancelled;
  return out;
}

Result<Plan> plan_of(const Policy& policy, const std::string& home) {
  Request request;
  request.argv = {"/usr/bin/true"};
  request.home = home;
  const Policy shown = learn::without_writes(policy, is_directory);
  return make_plan(shown, request, probe_for(shown, request));
}

}  // namespace cloche::cli
