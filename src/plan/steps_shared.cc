#include <sys/resource.h>

#include <algorithm>
#include <cmath>

#include "filter/filter.h"
#include "plan/landlock.h"
#include "plan/steps.h"

namespace cloche {
namespace {

using wire::StepKind;

constexpr std::uint64_t kAddressSpace = 64ull << 30;

bool memory_by_cgroup(const HostFacts& host) { return host.cgroup.at(Controller::kMemory).has_value(); }

// These runtimes reserve far more address space than they use, so that a cap on it says nothing about memory.
bool reserves_address_space(const std::string& program) {
  const std::string name = program.substr(program.rfind('/') + 1);
  for (const char* runtime : {"node", "java", "deno", "bun", "go", "dotnet"}) {
    if (name == runtime) return true;
  }
  return false;
}

filter::Watch watch_of(Observe observe) {
  switch (observe) {
    case Observe::kOff:
      break;
    case Observe::kCalls:
      return filter::Watch::kCalls;
    case Observe::kFiles:
      return filter::Watch::kFiles;
    case Observe::kAll:
      return filter::Watch::kAll;
  }
  return filter::Watch::kNothing;
}

void rlimit(Plan& plan, int resource, std::uint64_t value, Guarantee serves) {
  plan.steps.push_back(
      {.kind = StepKind::kRlimit, .serves = serves, .x = static_cast<std::uint64_t>(resource), .y = value});
}

// A file system of the cell's own says that it is full, and a program that ignores SIGXFSZ says nothing. So where that
// has room for a copy, too, this limit stands behind it.
std::uint64_t largest_file(const Plan& plan) {
  if (plan.tier == Tier::kProcess || !plan.watched.empty()) return plan.limits.disk.count;
  return std::max(plan.scratch_bytes.count, plan.limits.disk.count);
}

}  // namespace

unsigned whole_cpus(const Limits& limits) { return static_cast<unsigned>(std::max(1.0, std::ceil(limits.cpus))); }

std::string work_root(const Request& request) { return "/tmp/cloche-" + request.id; }

std::string expand_home(const std::string& path, const std::string& home) {
  if (path == "~") return home;
  return path.starts_with("~/") ? home + path.substr(1) : path;
}

std::vector<std::string> expand_home(const std::vector<std::string>& paths, const std::string& home) {
  std::vector<std::string> out;
  for (const std::string& path : paths) out.push_back(expand_home(path, home));
  return out;
}

bool lies_below(const std::string& path, const std::string& folder) {
  return path.size() > folder.size() && path.starts_with(folder) && (folder == "/" || path[folder.size()] == '/');
}

Step landlock_rule(std::string path, std::uint64_t access) {
  return {.kind = StepKind::kLandlockRule, .serves = Guarantee::kFileAccess, .a = std::move(path), .x = access};
}

Step optional_landlock_rule(std::string path, std::uint64_t access) {
  Step step = landlock_rule(std::move(path), access);
  step.y = 1;
  return step;
}

std::vector<Step> grant_rules(const StepContext& context) {
  namespace ll = landlock;
  const FileGrants& files = context.policy.files;
  const std::uint64_t write = ll::kReadWrite | (files.exec_writable ? ll::kExecute : 0);
  std::vector<Step> out;
  for (const auto& path : files.read) out.push_back(landlock_rule(expand_home(path, context.home), ll::kRead));
  for (const auto& path : files.exec) out.push_back(landlock_rule(expand_home(path, context.home), ll::kReadExec));
  for (const auto& path : files.write) out.push_back(landlock_rule(expand_home(path, context.home), write));
  for (Step& rule : out) rule.z = 1;
  return out;
}

std::vector<Grant> sorted_grants(const StepContext& context) {
  const FileGrants& files = context.policy.files;
  const std::uint64_t written = files.exec_writable ? 0 : static_cast<std::uint64_t>(wire::kNoExec);
  std::vector<Grant> out;
  for (const auto& path : files.read) out.push_back({expand_home(path, context.home), wire::kReadOnly | wire::kNoExec});
  for (const auto& path : files.exec) out.push_back({expand_home(path, context.home), wire::kReadOnly});
  for (const auto& path : files.write) out.push_back({expand_home(path, context.home), written});
  std::ranges::stable_sort(out, {}, [](const Grant& grant) { return grant.path.size(); });
  return out;
}

void add_rlimits(Plan& plan, const StepContext& context) {
  const Limits& limits = plan.limits;
  if (limits.cpu_time) {
    // One second more than the cell's own clock allows, so that the supervisor's word comes first.
    const auto seconds = static_cast<std::uint64_t>((limits.cpu_time->count() + 999) / 1000) + 1;
    rlimit(plan, RLIMIT_CPU, seconds, Guarantee::kCpuTime);
  }
  rlimit(plan, RLIMIT_FSIZE, largest_file(plan), Guarantee::kDisk);
  // 1, not 0: a core_pattern that is a pipe ignores 0, and no core file fits one byte. The filter forbids changing it.
  rlimit(plan, RLIMIT_CORE, 1, Guarantee::kCoreDumps);
  rlimit(plan, RLIMIT_NOFILE, limits.files, Guarantee::kOpenFiles);
  rlimit(plan, RLIMIT_MEMLOCK, 64 << 10, Guarantee::kMemory);
  rlimit(plan, RLIMIT_MSGQUEUE, 64 << 10, Guarantee::kMemory);
  rlimit(plan, RLIMIT_SIGPENDING, 1024, Guarantee::kMemory);
  rlimit(plan, RLIMIT_NICE, 0, Guarantee::kCpuShare);
  rlimit(plan, RLIMIT_RTPRIO, 0, Guarantee::kCpuShare);
  const bool capped = memory_by_cgroup(context.host);
  if (!capped) rlimit(plan, RLIMIT_DATA, limits.memory.count, Guarantee::kMemory);
  const bool wide = capped || reserves_address_space(plan.program);
  rlimit(plan, RLIMIT_AS, wide ? std::max(kAddressSpace, limits.memory.count) : limits.memory.count,
         Guarantee::kMemory);
  // Counted per user namespace; on tier 0 per host uid, which is the guest's own only under a root engine.
  // Where the cgroup counts too, this layer stands a little behind it, because only the cgroup tells that it refused.
  std::uint64_t tasks = limits.pids + (context.host.cgroup.at(Controller::kPids) ? 16 : 1);
  if (plan.tier == Tier::kProcess && !plan.own_host_uid) tasks += context.host.user_tasks;
  rlimit(plan, RLIMIT_NPROC, tasks, Guarantee::kPids);
}

void add_walls(Plan& plan, const StepContext& context, const std::vector<Step>& rules, const std::string& probe_path) {
  const int abi = context.host.landlock_abi;
  const bool confined_net = plan.net == NetMode::kNone && !plan.loopback;
  plan.steps.push_back({.kind = StepKind::kGuestSession, .serves = Guarantee::kSession, .x = plan.tty ? 1ull : 0ull});
  plan.steps.push_back({.kind = StepKind::kAffinity, .serves = Guarantee::kCpuShare, .x = whole_cpus(plan.limits)});
  plan.steps.push_back({.kind = StepKind::kNoNewPrivs, .serves = Guarantee::kNoNewPrivs});
  if (abi > 0) {
    plan.steps.push_back({.kind = StepKind::kLandlock,
                          .serves = Guarantee::kFileAccess,
                          .x = landlock::handled_fs(abi),
                          .y = confined_net ? landlock::handled_net(abi) : 0,
                          .z = landlock::scoped(abi)});
    for (Step rule : rules) {
      // Rights that this kernel does not know would be refused.
      rule.x &= landlock::handled_fs(abi);
      plan.steps.push_back(std::move(rule));
    }
    plan.steps.push_back({.kind = StepKind::kLandlockRestrict, .serves = Guarantee::kFileAccess, .a = probe_path});
  }
  filter::Options options;
  options.inet_sockets = plan.net != NetMode::kNone || plan.loopback;
  // Neither a read-only mount nor Landlock judges connect(): wherever a piece of the host's file system is in reach, so
  // are the sockets in it. Pairs that a program makes for itself stay.
  options.unix_sockets = plan.tier != Tier::kProcess && plan.grants.empty();
  options.own_ipc = plan.tier != Tier::kProcess;
  options.exec_writable = context.policy.files.exec_writable;
  options.reserve_room = plan.tier != Tier::kProcess && plan.watched.empty();
  plan.filter = options;
  plan.watch = context.host.seccomp_notify ? watch_of(context.policy.observe) : filter::Watch::kNothing;
  for (const Step& rule : rules) plan.reach.push_back({rule.a, rule.x});
  filter::Telling telling;
  telling.level = plan.watch;
  // A gateway to the network tells of every connection that is tried; of unix sockets it knows nothing.
  telling.inet_elsewhere = plan.has_network() && !options.unix_sockets;
  telling.own_processes = plan.tier != Tier::kProcess;
  telling.own_mounts = plan.tier != Tier::kProcess;
  telling.files = plan.limits.files;
  telling.launch_socket = wire::kControlFd;
  telling.launch_flags = wire::kSendFlags;
  const auto program =
      filter::compile(filter::watched(filter::rules(context.host.arch, options), telling), context.host.arch);
  plan.steps.push_back(
      {.kind = StepKind::kFilter,
       .serves = Guarantee::kSystemCalls,
       .x = program.size(),
       .y = plan.watch == filter::Watch::kNothing ? 0ull : 1ull,
       .data = std::string(reinterpret_cast<const char*>(program.data()), program.size() * sizeof(sock_filter))});
}

std::string starting_place(const Policy& policy, const std::string& home) {
  // Whoever works on a directory starts in it, unless another place is named.
  if (policy.cwd != "/work" || policy.workspace.path.empty()) return policy.cwd;
  return expand_home(policy.workspace.path.front(), home);
}

void add_exec(Plan& plan, const std::string& cwd) {
  plan.cwd = cwd;
  plan.steps.push_back({.kind = StepKind::kExec, .serves = Guarantee::kDescriptors, .a = plan.program, .b = cwd});
}

void add_tail(Plan& plan, const StepContext& context) {
  plan.steps.push_back({.kind = StepKind::kKeyring, .serves = Guarantee::kKeyring});
  add_rlimits(plan, context);
  plan.steps.push_back({.kind = StepKind::kDropCapabilities, .serves = Guarantee::kCapabilities});
  add_walls(plan, context, view_rules(context), "/.cloche");
  add_exec(plan, starting_place(context.policy, context.home));
}

std::string passwd_text(const Plan& plan) {
  const std::string uid = std::to_string(plan.inside_uid);
  const std::string gid = std::to_string(plan.inside_gid);
  return "guest:x:" + uid + ":" + gid + ":guest:/home/guest:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n";
}

std::string group_text(const Plan& plan) {
  return "guest:x:" + std::to_string(plan.inside_gid) + ":\nnogroup:x:65534:\n";
}

}  // namespace cloche
