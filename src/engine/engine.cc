#include "engine/engine.h"

#include <optional>
#include <utility>

#include "host/probe.h"
#include "tiers/tiers.h"

namespace cloche {

Result<Cell> start_cell(const Plan& plan, const LaunchContext& context) {
  switch (plan.backend) {
    case Backend::kNamespace:
      return start_namespace(plan, context);
    case Backend::kBwrap:
      return start_bwrap(plan, context);
    case Backend::kProcess:
    case Backend::kNone:
      return start_process(plan, context);
  }
  return fail(ErrorCode::kInternal, "engine", "unknown backend");
}

void complete_facts(HostFacts& host, const Policy& policy) {
  const bool tier_zero = policy.tier == Tier::kProcess && policy.backend != BackendChoice::kBwrap;
  if (tier_zero && !host.is_root) host.user_tasks = count_user_tasks(host.uid);
  if (policy.backend == BackendChoice::kBwrap) host.proc_entries = list_proc();
}

Report refusal(const Request& request, const Policy& policy, const Error& error) {
  Report report;
  report.id = request.id;
  report.policy = policy.name;
  report.argv = request.argv;
  report.tier = to_string(policy.tier);
  report.backend = to_string(policy.backend);
  const bool refused = error.code != ErrorCode::kSystem && error.code != ErrorCode::kInternal;
  Error plain;
  plain.message = error.message;
  plain.errno_value = error.errno_value;
  report.outcome = {refused ? OutcomeKind::kRefused : OutcomeKind::kFailed, 0, 0, plain.text(), error.step, error.hint};
  return report;
}

Report run(const Policy& policy, const Request& request, const HostFacts& host, RunWiring wiring) {
  Request named = request;
  if (named.id == "plan") {
    auto id = make_run_id();
    if (!id) return refusal(named, policy, id.error());
    named.id = std::move(*id);
  }
  auto supervisor = Supervisor::make(host, start_cell);
  if (!supervisor) return refusal(named, policy, supervisor.error());
  if (host.init && host.cgroup.version == CgroupFacts::Version::kV1) (*supervisor)->start_janitor();
  auto plan = make_plan(policy, named, host);
  if (!plan) return refusal(named, policy, plan.error());
  std::optional<Report> report;
  (*supervisor)->add(std::move(*plan), std::move(wiring), named.id, [&](Report r) { report = std::move(r); });
  while (!report) {
    if (Status stepped = (*supervisor)->step(Clock::time_point::max()); !stepped) {
      return refusal(named, policy, stepped.error());
    }
  }
  (*supervisor)->leave_janitor();
  return std::move(*report);
}

}  // namespace cloche
