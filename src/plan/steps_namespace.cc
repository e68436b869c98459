// Tier 1, native. The order, and what forces it:
//   identity first   files on our own tmpfs can only be made by a mapped uid
//   parent death     after the last change of credentials, which clears it
//   view             the host's paths are reachable until the pivot and not after
//   limits           before the guest exists
//   capabilities     after everything that needs them, before the guest exists
//   walls            by the guest-to-be: Landlock after the pivot (its rules are about inodes that are mounted then),
//                    no_new_privs before both, the filter last because it forbids the calls of the other steps
#include <algorithm>

#include "plan/landlock.h"
#include "plan/steps.h"

namespace cloche {
namespace {

using wire::StepKind;

constexpr std::uint64_t kSystemFlags = wire::kReadOnly;
constexpr std::uint64_t kRootSlack = 1 << 20;

void add(Plan& plan, Step step) { plan.steps.push_back(std::move(step)); }

std::string relative(const std::string& absolute) { return absolute.substr(absolute.find_first_not_of('/')); }

void add_file(Plan& plan, const std::string& target, std::string text) {
  add(plan,
      {.kind = StepKind::kFile, .serves = Guarantee::kFileSystem, .a = target, .x = 0444, .data = std::move(text)});
}

void add_bind(Plan& plan, const std::string& path, std::uint64_t flags) {
  add(plan, {.kind = StepKind::kBind, .serves = Guarantee::kFileSystem, .a = relative(path), .b = path, .x = flags});
}

void add_system(Plan& plan, const HostFacts& host) {
  add_bind(plan, "/usr", kSystemFlags);
  for (const char* name : {"bin", "sbin", "lib", "lib32", "lib64", "libx32"}) {
    if (host.usr_merged) {
      add(plan,
          {.kind = StepKind::kSymlink, .serves = Guarantee::kFileSystem, .a = name, .b = std::string("usr/") + name});
    } else {
      add_bind(plan, std::string("/") + name, kSystemFlags | wire::kOptional);
    }
  }
  constexpr std::uint64_t kData = wire::kReadOnly | wire::kNoExec | wire::kOptional;
  add_bind(plan, "/etc/ld.so.cache", kData);
  add_bind(plan, "/etc/alternatives", kData);
  if (!replaces_certificates(plan)) add_bind(plan, "/etc/ssl/certs", kData);
  add_file(plan, "etc/passwd", passwd_text(plan));
  add_file(plan, "etc/group", group_text(plan));
  add_file(plan, "etc/hosts", hosts_text(plan));
  add_file(plan, "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n");
  add_gateway_files(plan);
}

void add_devices(Plan& plan) {
  struct Device {
    const char* name;
    unsigned minor;
  };
  for (const Device& device : {Device{"null", 3}, {"zero", 5}, {"full", 7}, {"random", 8}, {"urandom", 9}}) {
    const std::string path = std::string("dev/") + device.name;
    add(plan, {.kind = StepKind::kDevice,
               .serves = Guarantee::kDevices,
               .a = path,
               .b = "/" + path,
               .x = 1,
               .y = device.minor});
  }
  if (plan.tty) {
    add(plan,
        {.kind = StepKind::kDevice, .serves = Guarantee::kDevices, .a = "dev/tty", .b = "/dev/tty", .x = 5, .y = 0});
    add(plan, {.kind = StepKind::kPts, .serves = Guarantee::kSession, .a = "dev/pts"});
    add(plan, {.kind = StepKind::kSymlink, .serves = Guarantee::kSession, .a = "dev/ptmx", .b = "pts/ptmx"});
  }
  struct Link {
    const char* name;
    const char* to;
  };
  for (const Link& link : {Link{"dev/fd", "/proc/self/fd"},
                           {"dev/stdin", "/proc/self/fd/0"},
                           {"dev/stdout", "/proc/self/fd/1"},
                           {"dev/stderr", "/proc/self/fd/2"}}) {
    add(plan, {.kind = StepKind::kSymlink, .serves = Guarantee::kDevices, .a = link.name, .b = link.to});
  }
}

void add_scratch(Plan& plan, const Policy& policy) {
  const std::uint64_t flags = policy.files.exec_writable ? 0 : static_cast<std::uint64_t>(wire::kNoExec);
  struct Place {
    const char* target;
    const char* name;
    std::uint64_t mode;
  };
  for (const Place& place : {Place{"work", "work", 0755}, {"tmp", "tmp", 01777}, {"home/guest", "home", 0755}}) {
    add(plan, {.kind = StepKind::kScratchDir,
               .serves = Guarantee::kDisk,
               .a = place.target,
               .b = place.name,
               .x = flags,
               .y = place.mode});
  }
  add(plan, {.kind = StepKind::kScratchDir,
             .serves = Guarantee::kIpc,
             .a = "dev/shm",
             .b = "shm",
             .x = flags | wire::kNoExec,
             .y = 01777});
}

// As root the engine clones and maps each grant (launch/host_mounts.h); as an ordinary user init binds it by path.
void add_grant(Plan& plan, const std::string& path, std::uint64_t flags, bool by_engine) {
  if (!by_engine) {
    add_bind(plan, path, flags | wire::kNoSymlinks);
    return;
  }
  const std::uint64_t index = plan.host_mounts.size();
  plan.host_mounts.push_back({path, (flags & wire::kReadOnly) == 0});
  add(plan, {.kind = StepKind::kBindFd,
             .serves = Guarantee::kFileSystem,
             .a = relative(path),
             .b = path,
             .x = flags,
             .y = index});
}

void add_hidden(Plan& plan, const std::string& below) {
  for (const std::string& path : plan.hidden) {
    if (!lies_below(path, below)) continue;
    add(plan, {.kind = StepKind::kHide, .serves = Guarantee::kFileSystem, .a = relative(path), .b = path});
  }
}

// The tree itself below, read-only; what takes the changes lies on top of it.
void add_workspace(Plan& plan, const Workspace& workspace, const Policy& policy) {
  const std::uint64_t flags = policy.files.exec_writable ? 0 : static_cast<std::uint64_t>(wire::kNoExec);
  add_grant(plan, workspace.path, flags | wire::kReadOnly, plan.own_host_uid);
  plan.steps.back().serves = Guarantee::kWorkspace;
  // Its owner must be mapped, or nothing could be changed; what is copied need only be read.
  if (plan.own_host_uid) plan.host_mounts.back().writable = workspace.maps_owners;
  // A copy would have what is hidden in it later, and with whatever name the guest gives it then.
  if (workspace.copied) add_hidden(plan, workspace.path);
  add(plan, {.kind = workspace.copied ? StepKind::kCopyTree : StepKind::kOverlay,
             .serves = Guarantee::kWorkspace,
             .a = relative(workspace.path),
             .b = workspace.scratch,
             .x = flags,
             .y = plan.disk_scratch.empty() ? 0ull : 1ull});
}

// As for grants: root's engine clones it and maps its owner to the guest.
void add_disk_scratch(Plan& plan) {
  if (plan.disk_scratch.empty()) return;
  Step step{.kind = StepKind::kDiskScratch, .serves = Guarantee::kWorkspace, .b = plan.disk_scratch};
  if (plan.own_host_uid) {
    plan.host_mounts.push_back({plan.disk_scratch, true});
    step.y = plan.host_mounts.size();
  }
  add(plan, std::move(step));
}

// The shorter path first, or it would cover the longer one.
void add_grants(Plan& plan, const StepContext& context) {
  const std::vector<Grant> grants = sorted_grants(context);
  std::vector<const Workspace*> workspaces;
  for (const Workspace& workspace : plan.workspaces) workspaces.push_back(&workspace);
  std::ranges::stable_sort(workspaces, {}, [](const Workspace* workspace) { return workspace->path.size(); });
  auto next = workspaces.begin();
  for (const Grant& grant : grants) {
    for (; next != workspaces.end() && (*next)->path.size() <= grant.path.size(); ++next) {
      add_workspace(plan, **next, context.policy);
    }
    add_grant(plan, grant.path, grant.flags, plan.own_host_uid);
  }
  for (; next != workspaces.end(); ++next) add_workspace(plan, **next, context.policy);
}

void add_puts(Plan& plan, const StepContext& context) {
  for (const Put& put : context.request.puts) {
    Step step{.kind = StepKind::kPut, .serves = Guarantee::kFileSystem, .a = relative(put.to), .b = put.from};
    if (plan.own_host_uid) {
      plan.host_mounts.push_back({put.from, false});
      step.y = plan.host_mounts.size();
    }
    add(plan, std::move(step));
  }
}

}  // namespace

std::string cpu_online_text(const Limits& limits) {
  const unsigned cpus = whole_cpus(limits);
  return cpus == 1 ? "0\n" : "0-" + std::to_string(cpus - 1) + "\n";
}

std::vector<Step> view_rules(const StepContext& context) {
  namespace ll = landlock;
  const std::uint64_t write = ll::kReadWrite | (context.policy.files.exec_writable ? ll::kExecute : 0);
  std::vector<Step> rules{landlock_rule("/", ll::kReadDir), landlock_rule("/usr", ll::kReadExec),
                          landlock_rule("/etc", ll::kRead), landlock_rule("/sys", ll::kRead),
                          landlock_rule("/dev", ll::kRead | ll::kWriteFile | ll::kIoctlDev)};
  if (!context.host.usr_merged) {
    for (const char* name : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
      rules.push_back(optional_landlock_rule(name, ll::kReadExec));
    }
  }
  if (context.host.proc_mountable) rules.push_back(landlock_rule("/proc", ll::kRead));
  if (context.request.script) rules.push_back(landlock_rule("/cell", ll::kRead));
  for (const char* place : {"/work", "/tmp", "/home/guest"}) rules.push_back(landlock_rule(place, write));
  rules.push_back(landlock_rule("/dev/shm", ll::kReadWrite));
  for (Step& rule : grant_rules(context)) rules.push_back(std::move(rule));
  for (const std::string& path : context.policy.workspace.path) {
    rules.push_back(landlock_rule(expand_home(path, context.home), write));
    rules.back().z = 1;
  }
  return rules;
}

void add_namespace_steps(Plan& plan, const StepContext& context) {
  const std::uint64_t script_size = context.request.script ? context.request.script->text.size() : 0;
  add(plan, {.kind = StepKind::kIdentity, .serves = Guarantee::kIdentity, .x = plan.inside_uid, .y = plan.inside_gid});
  add(plan, {.kind = StepKind::kParentDeath, .serves = Guarantee::kEngineDeath});
  // Counted up the chain of namespaces: without a cap of its own a guest would use up the caller's.
  add(plan, {.kind = StepKind::kSysctl, .serves = Guarantee::kOpenFiles, .a = wire::kMostInotifyInstances, .b = "16"});
  add(plan, {.kind = StepKind::kSysctl, .serves = Guarantee::kOpenFiles, .a = wire::kMostInotifyWatches, .b = "8192"});
  add(plan, {.kind = StepKind::kHostname, .serves = Guarantee::kHostname, .a = "cell"});
  // The scratch goes aside first: what is attached later lies on top, and only what lies below the new root leaves with
  // the old one.
  add(plan, {.kind = StepKind::kScratch,
             .serves = Guarantee::kDisk,
             .x = plan.scratch_bytes.count,
             .y = plan.scratch_inodes});
  const std::size_t scratch = plan.steps.size() - 1;
  const std::size_t sockets = plan.gateway ? plan.gateway->sockets.size() : 0;
  add_disk_scratch(plan);
  add(plan, {.kind = StepKind::kNewRoot,
             .serves = Guarantee::kFileSystem,
             .x = kRootSlack + script_size,
             .y = 256 + 16 * (plan.grants.size() + plan.workspaces.size() + context.request.puts.size() + sockets)});
  add_system(plan, context.host);
  add_scratch(plan, context.policy);
  add_devices(plan);
  if (context.host.proc_mountable) add(plan, {.kind = StepKind::kProc, .serves = Guarantee::kProcView, .a = "proc"});
  add_file(plan, "sys/devices/system/cpu/online", cpu_online_text(plan.limits));
  add_file(plan, ".cloche", "held by Landlock\n");
  if (context.request.script) add_file(plan, "cell/" + context.request.script->name, context.request.script->text);
  add_grants(plan, context);
  for (const Grant& pin : pinned(plan, context)) add_grant(plan, pin.path, pin.flags, plan.own_host_uid);
  add_hidden(plan, "/");
  add_puts(plan, context);
  // Behind all that the engine clones.
  if (!plan.own_disk.empty()) plan.steps[scratch].z = plan.host_mounts.size() + 1;
  add_gateway_sockets(plan);
  add(plan, {.kind = StepKind::kPivot, .serves = Guarantee::kFileSystem});
  add(plan, {.kind = StepKind::kRootReadOnly, .serves = Guarantee::kFileSystem});
  // Late: both are made beside the steps so far.
  if (plan.net != NetMode::kHost) add(plan, {.kind = StepKind::kNetwork, .serves = Guarantee::kNetwork});
  if (plan.loopback) add(plan, {.kind = StepKind::kLoopbackUp, .serves = Guarantee::kNetwork});
  add_gateway_listeners(plan);
  if (!plan.cgroup.empty()) add(plan, {.kind = StepKind::kCgroup, .serves = Guarantee::kPids});
  add(plan, {.kind = StepKind::kCgroupNamespace, .serves = Guarantee::kFileSystem});
  add_tail(plan, context);
}

}  // namespace cloche
