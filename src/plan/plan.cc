#include "plan/plan.h"

#include <sched.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "plan/offers.h"
#include "plan/steps.h"
#include "policy/env_names.h"

namespace cloche {
namespace {

constexpr Millis kDefaultWall{300'000};  // N2
constexpr std::uint64_t kCpuPeriodUs = 100'000;

Result<Backend> choose_backend(const Policy& policy) {
  if (policy.tier >= Tier::kContainer) {
    return fail(ErrorCode::kRefused, "plan", fmt::format("tier '{}' is not in this version", to_string(policy.tier)),
                "use tier = \"namespace\"");
  }
  switch (policy.backend) {
    case BackendChoice::kNone:
      if (!policy.development || !policy.weakens(Weakening::kNoBackend)) {
        return fail(ErrorCode::kRefused, "plan", "backend 'none' contains nothing and is for development only",
                    "set development = true and weaken = [\"no-backend\"], or leave the backend out");
      }
      return Backend::kNone;
    case BackendChoice::kBwrap:
      return Backend::kBwrap;
    case BackendChoice::kAuto:
    case BackendChoice::kNative:
      break;
  }
  return policy.tier == Tier::kProcess ? Backend::kProcess : Backend::kNamespace;
}

bool is_limit(Guarantee g) { return g >= Guarantee::kWall && g <= Guarantee::kOutput; }

// What tier 0 and bwrap cannot give by their nature. Choosing them is what spells the weakening out.
bool inherent(Backend backend, Guarantee g) {
  if (g == Guarantee::kDisk) return backend == Backend::kProcess || backend == Backend::kBwrap;
  if ((g == Guarantee::kFileSystem || g == Guarantee::kDevices) && backend == Backend::kBwrap) return true;
  if (backend != Backend::kProcess) return false;
  switch (g) {
    case Guarantee::kProcesses:
    case Guarantee::kFileSystem:
    case Guarantee::kFileAccess:
    case Guarantee::kProcView:
    case Guarantee::kDevices:
    case Guarantee::kIpc:
    case Guarantee::kHostname:
    case Guarantee::kCapabilities:
      return true;
    default:
      return false;
  }
}

bool asked_for(Guarantee g, const Plan& plan) {
  if (g == Guarantee::kCpuTime) return plan.limits.cpu_time.has_value();
  if (g == Guarantee::kWall) return plan.wall.has_value();
  if (g == Guarantee::kWorkspace) return !plan.workspaces.empty();
  if (g == Guarantee::kGateway) return plan.gateway.has_value();
  if (g == Guarantee::kTraffic) return plan.gateway && plan.gateway->limits != NetLimits{};
  return true;
}

// Affinity is a hard cap for whole cpus, because the filter forbids changing it.
bool whole_cpus_only(const Plan& plan) {
  return std::floor(plan.limits.cpus) == plan.limits.cpus && plan.backend != Backend::kNone;
}

bool held_by_affinity(const Offer& offer, const Plan& plan) {
  return offer.guarantee == Guarantee::kCpuShare && whole_cpus_only(plan);
}

// Which directories of the host are under the limit because the supervisor looks at them.
std::string watched_text(const Plan& plan) {
  constexpr std::size_t kShown = 3;
  std::string out = "watched, with what is written between two looks on top: ";
  for (std::size_t i = 0; i < plan.watched.size() && i < kShown; ++i) out += (i == 0 ? "" : ", ") + plan.watched[i];
  if (plan.watched.size() > kShown) out += fmt::format(" and {} more", plan.watched.size() - kShown);
  return out;
}

// Of the first workspace for which there is something to say.
std::string why_text(const Plan& plan) {
  const auto found = std::ranges::find_if(plan.workspaces, [](const Workspace& w) { return !w.why.empty(); });
  return found == plan.workspaces.end() ? std::string() : ": " + found->why;
}

// Judges every offer: held, weakened with the policy's leave, or refused.
Status settle_guarantees(Plan& plan, const Policy& policy, const HostFacts& host) {
  const bool best_effort = policy.limits.mode == LimitsMode::kBestEffort;
  for (const Offer& offer : offers(plan.backend, host)) {
    const Guarantee g = offer.guarantee;
    if (!asked_for(g, plan)) continue;
    ReceiptLine line{g, offer.standing, offer.mechanism, {}};
    if (held_by_affinity(offer, plan)) {
      line.standing = Standing::kHeld;
      line.mechanism = "cpu affinity, which the filter keeps";
    }
    if (g == Guarantee::kWorkspace && std::ranges::any_of(plan.workspaces, &Workspace::copied)) {
      line.mechanism = plan.disk_scratch.empty() ? "a copy in the scratch" : "a copy on the disk";
    } else if (g == Guarantee::kWorkspace && !(plan.disk_scratch.empty() && plan.own_disk.empty())) {
      line.mechanism = "overlayfs, changes on the disk";
    }
    if (g == Guarantee::kWorkspace) line.mechanism += why_text(plan);
    if (g == Guarantee::kDisk && !plan.own_disk.empty()) {
      line.mechanism = "file system of its own in a file on the disk, with size and inode cap";
    }
    if (g == Guarantee::kNetwork && plan.gateway && plan.gateway->proxy_port != 0) {
      const std::size_t rules = plan.gateway->allow.size();
      line.mechanism += fmt::format("; gateway, {} rule{}", rules, rules == 1 ? "" : "s");
    }
    if (g == Guarantee::kDisk && !plan.watched.empty()) line.mechanism += "; " + watched_text(plan);
    const bool host_network = g == Guarantee::kNetwork && plan.net == NetMode::kHost;
    if (host_network) {
      line.standing = Standing::kAbsent;
      line.mechanism = "the host's network, as the policy says";
    }
    if (line.standing != Standing::kHeld) {
      const bool groups = g == Guarantee::kIdentity && policy.weakens(Weakening::kSupplementaryGroups) &&
                          line.standing == Standing::kWeakened;
      const bool allowed = plan.backend == Backend::kNone || host_network || groups || (is_limit(g) && best_effort) ||
                           (inherent(plan.backend, g) && line.standing == Standing::kWeakened) ||
                           (plan.backend == Backend::kProcess && inherent(plan.backend, g));
      if (!allowed) {
        std::string hint = offer.hint;
        if (is_limit(g))
          hint += (hint.empty() ? "" : "; or ") +
                  std::string("set limits.mode = \"best-effort\" to accept the weaker limit");
        return fail(ErrorCode::kRefused, std::string(to_string(g)),
                    fmt::format("this host cannot give the guarantee '{}' ({})", to_string(g), offer.mechanism), hint);
      }
      plan.weakenings.push_back(fmt::format("{}: {}", to_string(g), line.mechanism));
    }
    plan.guarantees.push_back(std::move(line));
  }
  return {};
}

void add_v1_settings(Plan& plan, std::uint64_t tasks) {
  const Limits& l = plan.limits;
  plan.cgroup = {
      {Controller::kPids, "pids.max", std::to_string(tasks), Guarantee::kPids, true},
      {Controller::kMemory, "memory.limit_in_bytes", std::to_string(l.memory.count), Guarantee::kMemory, true},
      // Kernels without swap accounting have no such file; without swap it says nothing.
      {Controller::kMemory, "memory.memsw.limit_in_bytes", std::to_string(l.memory.count), Guarantee::kMemory, false},
      {Controller::kCpuAcct, "", "", Guarantee::kCpuTime, true},
  };
  // Affinity caps whole cpus by itself; a quota is for the fractions.
  if (!whole_cpus_only(plan)) {
    plan.cgroup.push_back({Controller::kCpu, "cpu.cfs_quota_us",
                           std::to_string(static_cast<std::uint64_t>(l.cpus * kCpuPeriodUs)), Guarantee::kCpuShare,
                           true});
  }
  if (plan.net != NetMode::kNone || plan.loopback) {
    // What TCP buffers is counted apart; without a network there is none.
    plan.cgroup.push_back({Controller::kMemory, "memory.kmem.tcp.limit_in_bytes", std::to_string(l.memory.count),
                           Guarantee::kMemory, true});
  }
}

void add_v2_settings(Plan& plan, std::uint64_t tasks) {
  const Limits& l = plan.limits;
  plan.cgroup = {
      {Controller::kPids, "pids.max", std::to_string(tasks), Guarantee::kPids, true},
      {Controller::kMemory, "memory.max", std::to_string(l.memory.count), Guarantee::kMemory, true},
      {Controller::kMemory, "memory.swap.max", "0", Guarantee::kMemory, false},
      {Controller::kMemory, "memory.oom.group", "1", Guarantee::kMemory, true},
      {Controller::kCpu, "cpu.max",
       fmt::format("{} {}", static_cast<std::uint64_t>(l.cpus * kCpuPeriodUs), kCpuPeriodUs), Guarantee::kCpuShare,
       true},
  };
}

void add_cgroup(Plan& plan, const HostFacts& host) {
  if (plan.backend == Backend::kNone) return;
  // Init counts, and so does bwrap's own monitor.
  const std::uint64_t tasks = plan.limits.pids + (plan.backend == Backend::kBwrap ? 2 : 1);
  if (host.cgroup.version == CgroupFacts::Version::kV1) add_v1_settings(plan, tasks);
  if (host.cgroup.version == CgroupFacts::Version::kV2) add_v2_settings(plan, tasks);
  std::erase_if(plan.cgroup, [&](const CgroupSetting& s) { return !host.cgroup.at(s.controller); });
}

void add_environment(Plan& plan, const Policy& policy, const Request& request) {
  const bool on_host = plan.tier == Tier::kProcess;
  const std::string root = work_root(request);
  std::map<std::string, std::string> env{{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                                         {"HOME", on_host ? root + "/home" : "/home/guest"},
                                         {"TMPDIR", on_host ? root + "/tmp" : "/tmp"},
                                         {"USER", "guest"},
                                         {"LOGNAME", "guest"}};
  if (plan.tty) {
    auto term = request.env.find("TERM");
    env["TERM"] = term != request.env.end() ? term->second : "xterm";
  }
  add_gateway_environment(plan, env);
  for (auto& [name, value] : select_env(policy.env, request.env)) env[name] = value;
  // The engine puts the placeholder there.
  for (const SecretGrant& secret : policy.secrets) env[secret.name].clear();
  // Characters are UTF-8 unless somebody says otherwise. Not LANG, for which every program that knows locales would
  // open a dozen files.
  if (!env.contains("LANG") && !env.contains("LC_ALL")) env.emplace("LC_CTYPE", "C.UTF-8");
  plan.env.assign(env.begin(), env.end());
}

Status settle_grants(Plan& plan, const StepContext& context) {
  const std::vector<Grant> grants = sorted_grants(context);
  std::vector<std::string> places;
  for (const Grant& grant : grants) places.push_back(grant.path);
  for (const Workspace& workspace : plan.workspaces) places.push_back(workspace.path);
  plan.grants = places;
  for (const std::string& place : places) {
    for (const char* own : {"/usr", "/work", "/tmp", "/home/guest", "/cell", "/dev/shm"}) {
      if (plan.backend == Backend::kProcess || place != own) continue;
      return fail(ErrorCode::kRefused, "files", fmt::format("'{}' is a place that every cell has of its own", own),
                  "grant a directory below it, or another one");
    }
  }
  if (plan.backend != Backend::kProcess) return {};
  for (const Grant& inner : grants) {
    for (const Grant& outer : grants) {
      const bool narrower = (inner.flags & wire::kReadOnly) != 0 && (outer.flags & wire::kReadOnly) == 0;
      if (!narrower || !lies_below(inner.path, outer.path)) continue;
      return fail(
          ErrorCode::kRefused, "files",
          fmt::format("tier 'process' cannot keep '{}' read-only inside the writable '{}'", inner.path, outer.path),
          "use tier = \"namespace\", or grant them apart");
    }
  }
  return {};
}

void settle_watched(Plan& plan, const StepContext& context) {
  if (plan.backend == Backend::kNone) return;
  for (const std::string& path : expand_home(context.policy.files.write, context.home)) plan.watched.push_back(path);
}

void add_program(Plan& plan, const Request& request) {
  if (!request.script) {
    plan.argv = request.argv;
    plan.program = !request.program.empty() ? request.program : request.argv.empty() ? "" : request.argv.front();
    return;
  }
  const Script& script = *request.script;
  const std::string folder = plan.tier == Tier::kProcess ? work_root(request) + "/cell/" : "/cell/";
  plan.program = script.interpreter;
  plan.argv = {script.interpreter};
  plan.argv.insert(plan.argv.end(), script.interpreter_args.begin(), script.interpreter_args.end());
  plan.argv.push_back(folder + script.name);
  plan.argv.insert(plan.argv.end(), request.argv.begin(), request.argv.end());
}

}  // namespace

Result<Plan> make_plan(const Policy& policy, const Request& request, const HostFacts& host) {
  Plan plan;
  CLOCHE_TRY_ASSIGN(plan.backend, choose_backend(policy));
  if (auto problem = obstacle(plan.backend, host)) {
    return fail(ErrorCode::kRefused, "host", problem->what, problem->hint);
  }
  const bool on_host = plan.backend == Backend::kProcess || plan.backend == Backend::kNone;
  if (on_host && policy.trust == Trust::kLow && plan.backend != Backend::kNone) {
    return fail(ErrorCode::kRefused, "plan", "code of low trust never runs below tier 'namespace'",
                "set tier = \"namespace\", or trust = \"medium\" for code that a person wrote");
  }
  plan.tier = on_host ? Tier::kProcess : Tier::kNamespace;
  if (on_host && request.tty) {
    return fail(ErrorCode::kRefused, "plan", "a terminal of the cell's own needs tier 'namespace'",
                "drop --tty or raise the tier");
  }
  plan.policy_name = policy.name;
  plan.limits = policy.limits;
  plan.wall = policy.limits.wall    ? policy.limits.wall
              : request.cancellable ? std::nullopt
                                    : std::optional(kDefaultWall);
  plan.net = policy.net;
  plan.loopback = policy.loopback;
  plan.tty = request.tty;
  plan.own_host_uid = host.is_root && plan.backend != Backend::kNone;
  plan.inside_uid = plan.inside_gid = policy.root_in_cell ? 0 : 1000;
  add_program(plan, request);
  if (plan.argv.size() > wire::kMaxArgs / 2) {
    return fail(ErrorCode::kInvalidInput, "plan",
                fmt::format("{} arguments are more than a cell takes ({})", plan.argv.size(), wire::kMaxArgs / 2),
                "pass them in a file or on stdin");
  }
  if (plan.program.empty() || plan.program.front() != '/') {
    return fail(ErrorCode::kNotFound, "plan", fmt::format("'{}' is not a path inside the cell", plan.program),
                "name the program by its absolute path");
  }
  const StepContext context{policy, request, host, request.home};
  CLOCHE_TRY(fits_backend(plan, policy));
  CLOCHE_TRY(settle_workspaces(plan, context));
  CLOCHE_TRY(settle_gateway(plan, context));
  settle_watched(plan, context);
  CLOCHE_TRY(settle_guarantees(plan, policy, host));
  add_cgroup(plan, host);
  add_environment(plan, policy, request);
  CLOCHE_TRY(settle_grants(plan, context));
  CLOCHE_TRY(settle_own_places(plan, context));
  if (plan.env.size() > wire::kMaxArgs / 2) {
    return fail(ErrorCode::kInvalidInput, "plan",
                fmt::format("{} environment variables are more than a cell takes", plan.env.size()),
                "pass fewer of them");
  }

  switch (plan.backend) {
    case Backend::kNamespace:
      plan.namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
      if (plan.net != NetMode::kHost) plan.namespaces |= CLONE_NEWNET;
      add_namespace_steps(plan, context);
      break;
    case Backend::kBwrap:
      add_bwrap_steps(plan, context);
      break;
    case Backend::kProcess:
      add_process_steps(plan, context);
      break;
    case Backend::kNone:
      add_unconfined_steps(plan, context);
      break;
  }
  return plan;
}

}  // namespace cloche
