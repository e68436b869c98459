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

namespace {

// Tier 1, native, is what most runs are: its first process can be on its way while the plan is made. Under cgroup v2 it
// is born in its group, which the plan names.
bool worth_an_early_start(const Policy& policy, const HostFacts& host) {
  const bool native = policy.backend == BackendChoice::kAuto || policy.backend == BackendChoice::kNative;
  return native && policy.tier != Tier::kProcess && host.user_namespaces && host.mount_api && host.init &&
         host.clone3 && host.cgroup.version != CgroupFacts::Version::kV2;
}

}  // namespace

Starter starter_with(std::shared_ptr<keeper::Client> client, bool only) {
  return [client = std::move(client), only](const Plan& plan, const LaunchContext& context) -> Result<Cell> {
    if (client->connected() && keeper::can_serve(plan, context.host)) {
      auto cell = client->take(plan, context);
      if (cell || only) return cell;
    } else if (only) {
      return fail(ErrorCode::kRefused, "keeper", "it cannot serve this policy",
                  "leave --keeper always out: the run then starts by itself");
    }
    return start_cell(plan, context);
  };
}

Report run(const Policy& policy, const Request& request, const HostFacts& host, RunWiring wiring,
           const KeeperUse& keeper) {
  wiring.asked = Clock::now();
  Request named = request;
  if (named.id == "plan") {
    auto id = make_run_id();
    if (!id) return refusal(named, policy, id.error());
    named.id = std::move(*id);
  }
  Starter starter = start_cell;
  bool warm = false;
  const bool only = keeper.when == KeeperUse::When::kAlways;
  if (keeper.when != KeeperUse::When::kNever) {
    if (auto client = keeper::Client::connect(keeper.directory)) {
      starter = starter_with(std::make_shared<keeper::Client>(std::move(*client)), only);
      warm = true;
    } else if (only) {
      return refusal(named, policy, client.error());
    }
  }
  // Tier 0 leaves directory trees, whose removal takes more than a process in our memory may use.
  auto supervisor = Supervisor::make(host, std::move(starter),
                                     policy.tier == Tier::kProcess ? Janitor::Home::kProgram : Janitor::Home::kShared);
  if (!supervisor) return refusal(named, policy, supervisor.error());
  if (!warm && worth_an_early_start(policy, host)) (*supervisor)->start_early(first_process(host));
  auto plan = make_plan(policy, named, host);
  if (!plan) return refusal(named, policy, plan.error());
  std::optional<Report> report;
  (*supervisor)->add(std::make_shared<const Plan>(std::move(*plan)), std::move(wiring), named.id, [&](Report r) {
    report = std::move(r);
  });
  while (!report) {
    if (Status stepped = (*supervisor)->step(Clock::time_point::max()); !stepped) {
      return refusal(named, policy, stepped.error());
    }
  }
  return std::move(*report);
}

}  // namespace cloche
