#include "engine/engine.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <optional>
#include <utility>

#include "engine/own_places.h"
#include "engine/way_out_start.h"
#include "host/probe.h"
#include "host/socket_probe.h"
#include "host/workspace_probe.h"
#include "launch/host_mounts.h"
#include "plan/steps.h"
#include "sys/file.h"
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

namespace {

// Root's guest has a uid that is nobody's. To ask the kernel takes a process, so it is asked where the answer is open.
WorkspaceFacts look_at(const HostFacts& host, const std::string& path, const Policy& policy, Overlay overlay) {
  WorkspaceLook how;
  how.overlay = overlay;
  if (!host.is_root) how.guest = {host.uid, host.gid};
  if (policy.workspace.mode == WorkspaceMode::kAuto) how.bound = {policy.limits.disk.count, policy.limits.inodes};
  WorkspaceFacts facts = look_at_workspace(path, how);
  const bool usual = overlay == Overlay::kWanted && facts.no_overlay.empty() && surely_maps_owners(path);
  if (!host.is_root || usual || maps_owners(path)) return facts;
  how.overlay = Overlay::kUnmapped;
  return look_at_workspace(path, how);
}

}  // namespace

std::vector<OwnPlace> places_to_hide(const Policy& policy, const Request& request) {
  const FileGrants& files = policy.files;
  const bool sees_nothing = files.read.empty() && files.write.empty() && files.exec.empty() &&
                            policy.workspace.path.empty() && policy.sockets.empty() && request.puts.empty();
  return sees_nothing ? std::vector<OwnPlace>() : own_places(request.env);
}

void complete_facts(HostFacts& host, const Policy& policy, const Request& request) {
  complete_facts(host, policy, request, places_to_hide(policy, request));
}

void complete_facts(HostFacts& host, const Policy& policy, const Request& request, std::vector<OwnPlace> to_hide) {
  const std::string& home = request.home;
  host.own_places = std::move(to_hide);
  const bool tier_zero = policy.tier == Tier::kProcess && policy.backend != BackendChoice::kBwrap;
  if (tier_zero && !host.is_root) host.user_tasks = count_user_tasks(host.uid);
  const bool may_be_weaker = policy.limits.mode == LimitsMode::kBestEffort;
  if (may_be_weaker && host.is_root && policy.workspace.scratch == WorkspaceScratch::kDisk) {
    host.disk_images = can_make_disk_images();
  }
  if (policy.backend == BackendChoice::kBwrap) host.proc_entries = list_proc();
  for (const std::string& path : expand_home(policy.workspace.path, home)) {
    const Overlay overlay = policy.workspace.mode == WorkspaceMode::kCopy ? Overlay::kUnwanted : Overlay::kWanted;
    host.workspaces.push_back(look_at(host, path, policy, overlay));
  }
  for (const SocketGrant& grant : policy.sockets) host.sockets.push_back(find_sockets(expand_home(grant.path, home)));
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
  if (error.errno_value == ECANCELED) report.outcome = {OutcomeKind::kCancelled, 0, 0, error.message, error.step, {}};
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

namespace {

// Where the kernel will not have it, although nothing told so before: the next plan knows.
bool learn_from(HostFacts& host, const Policy& policy, const std::string& home, int overlay_error) {
  if (overlay_error == 0 || policy.workspace.mode != WorkspaceMode::kAuto) return false;
  host.workspaces.clear();
  for (const std::string& path : expand_home(policy.workspace.path, home)) {
    host.workspaces.push_back(look_at(host, path, policy, Overlay::kRefused));
  }
  return true;
}

Result<std::vector<Fd>> open_roots(const Plan& plan) {
  std::vector<Fd> out;
  for (const Workspace& workspace : plan.workspaces) {
    CLOCHE_TRY_ASSIGN(Fd place, sys::open_without_symlinks(workspace.path));
    const int fd = ::openat(place.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
      return std::unexpected(Error{ErrorCode::kRefused, "workspace " + workspace.path, errno,
                                   "it cannot be opened as a directory", "name a directory that this user may read"});
    }
    out.emplace_back(fd);
  }
  return out;
}

// Looks on at what stands where in the workspaces, and says when it wants to do so again.
Clock::time_point look_around(std::vector<files::Whereabouts>& all) {
  if (all.empty()) return Clock::time_point::max();
  std::ranges::min_element(all, {}, &files::Whereabouts::next)->advance(Clock::now());
  return std::ranges::min_element(all, {}, &files::Whereabouts::next)->next();
}

timespec time_now() {
  timespec out{};
  ::clock_gettime(CLOCK_REALTIME, &out);
  return out;
}

timespec file_time(std::uint64_t nanoseconds) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  return {static_cast<time_t>(nanoseconds / kSecond), static_cast<long>(nanoseconds % kSecond)};
}

// One attempt: a plan from the first process to the report.
struct Attempt {
  Report report;
  int overlay_error = 0;  // what the kernel said to an overlay, if it refused one
};

Result<Attempt> attempt(Supervisor& supervisor, const std::shared_ptr<const Plan>& plan, RunWiring wiring,
                        const std::string& id, const Keep& keep) {
  Attempt out;
  Leftovers left;
  left.started = time_now();
  left.janitor = supervisor.tree_janitor();
  if (!plan->workspaces.empty()) wiring.not_before = left.started;
  CLOCHE_TRY_ASSIGN(left.roots, open_roots(*plan));
  for (std::size_t i = 0; i < left.roots.size(); ++i) {
    left.whereabouts.emplace_back(left.roots[i].get(), view_kind(plan->workspaces[i]), left.started);
  }
  wiring.on_step_failed = [&](wire::StepKind kind, int error) {
    if (kind == wire::StepKind::kOverlay) out.overlay_error = error;
  };
  wiring.on_scratch = [&](RunWiring::Remains remains) {
    left.scratch = std::move(remains.scratch);
    left.image = std::move(remains.image);
    left.disk = std::move(remains.disk);
    left.copied = file_time(remains.copied_at);
  };
  bool done = false;
  supervisor.add(plan, std::move(wiring), id, [&](Report report) {
    out.report = std::move(report);
    done = true;
  });
  // Only while the cell is at work: nobody waits for it.
  while (!done) CLOCHE_TRY(supervisor.step(look_around(left.whereabouts)));
  if (left.scratch.valid() && keep) keep(*plan, left, out.report);
  if (Status removed = left.disk.remove(); !removed) {
    out.report.denials.push_back({"clean-up", removed.error().text(), 1});
  }
  return out;
}

}  // namespace

Report run(const Policy& policy, const Request& request, const HostFacts& host, RunWiring wiring, HeadStart head,
           const Keep& keep) {
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
  const bool leaves_trees = policy.tier == Tier::kProcess || policy.workspace.scratch == WorkspaceScratch::kDisk;
  const bool apart = leaves_trees || head.hands_out || head.in_host_program;
  auto supervisor =
      Supervisor::make(host, std::move(starter), apart ? Janitor::Home::kProgram : Janitor::Home::kShared);
  if (!supervisor) return refusal(named, policy, supervisor.error());
  (*supervisor)->use_early(std::move(head.first));
  const auto try_on = [&](const HostFacts& facts) -> Result<Attempt> {
    CLOCHE_TRY_ASSIGN(Plan plan, make_plan(policy, named, facts));
    CLOCHE_TRY(make_hidden(plan, named.env));
    RunWiring own = wiring;
    if (plan.gateway) {
      CLOCHE_TRY_ASSIGN(WayOutParts parts, start_way_out(plan, facts, named.env, own.cancel_fd));
      own.way_out = std::make_shared<WayOutParts>(std::move(parts));
    }
    return attempt(**supervisor, std::make_shared<const Plan>(std::move(plan)), std::move(own), named.id, keep);
  };
  auto tried = try_on(host);
  HostFacts wiser = host;
  if (tried && learn_from(wiser, policy, named.home, tried->overlay_error)) tried = try_on(wiser);
  if (head.janitor != nullptr) *head.janitor = Supervisor::dismiss(std::move(*supervisor));
  return tried ? std::move(tried->report) : refusal(named, policy, tried.error());
}

}  // namespace cloche
