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
bool takes_early_process(const Policy& policy, const HostFacts& host) {
  const bool native = policy.backend == BackendChoice::kAuto || policy.backend == BackendChoice::kNative;
  return native && policy.tier != Tier::kProcess && host.user_namespaces && host.mount_api && host.init &&
         host.clone3 && host.cgroup.version != CgroupFacts::Version::kV2;
}

}  // namespace

HeadStart begin_early(const KeeperUse& keeper) {
  HeadStart out;
  if (keeper.when != KeeperUse::When::kNever) {
    auto client = keeper::Client::connect(keeper.directory);
    out.only_keeper = keeper.when == KeeperUse::When::kAlways;
    if (client) {
      out.keeper = std::make_shared<keeper::Client>(std::move(*client));
      return out;
    }
    if (out.only_keeper) {
      out.no_keeper = client.error();
      return out;
    }
  }
  const HostFacts host = probe_first();
  if (!host.init || host.cgroup.version == CgroupFacts::Version::kV2) return out;
  SpawnSpec first = first_process(host);
  first.elsewhere = true;
  // A failure shows when the run tries again.
  if (auto process = spawn(first)) out.first = std::move(*process);
  return out;
}

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

Report run(const Policy& policy, const Request& request, const HostFacts& host, RunWiring wiring, HeadStart head) {
  if (!wiring.asked) wiring.asked = Clock::now();
  Request named = request;
  if (named.id == "plan") {
    auto id = make_run_id();
    if (!id) return refusal(named, policy, id.error());
    named.id = std::move(*id);
  }
  if (head.no_keeper) return refusal(named, policy, *head.no_keeper);
  if (!takes_early_process(policy, host)) head.first = {};
  Starter starter = head.keeper ? starter_with(head.keeper, head.only_keeper) : Starter(start_cell);
  // Tier 0 leaves directory trees, whose removal takes more than a process in our memory may use.
  auto supervisor = Supervisor::make(host, std::move(starter),
                                     policy.tier == Tier::kProcess ? Janitor::Home::kProgram : Janitor::Home::kShared);
  if (!supervisor) return refusal(named, policy, supervisor.error());
  (*supervisor)->use_early(std::move(head.first));
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
