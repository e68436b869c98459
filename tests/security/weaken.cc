#include "weaken.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

namespace cloche::security {
namespace {

using wire::StepKind;

Status nothing(std::string_view what) {
  return fail(ErrorCode::kInvalidInput, "weaken", "the plan has nothing that " + std::string(what) + " would remove");
}

template <typename Predicate>
Status drop_steps(Plan& plan, std::string_view what, Predicate&& goes) {
  const auto count = std::erase_if(plan.steps, goes);
  // Without a filter there is nothing that could tell.
  if (std::ranges::find(plan.steps, StepKind::kFilter, &Step::kind) == plan.steps.end())
    plan.watch = filter::Watch::kNothing;
  return count > 0 ? Status{} : nothing(what);
}

Status drop_kinds(Plan& plan, std::string_view what, std::initializer_list<StepKind> kinds) {
  return drop_steps(plan, what, [&](const Step& step) { return std::ranges::find(kinds, step.kind) != kinds.end(); });
}

Status drop_rlimit(Plan& plan, std::string_view what, std::string_view name) {
  static const std::map<std::string_view, std::uint64_t> kResources = {
      {"core", RLIMIT_CORE},       {"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC}, {"fsize", RLIMIT_FSIZE},
      {"memlock", RLIMIT_MEMLOCK}, {"as", RLIMIT_AS},         {"data", RLIMIT_DATA},   {"cpu", RLIMIT_CPU}};
  const auto resource = kResources.find(name);
  if (resource == kResources.end()) return nothing(what);
  const auto removed = drop_steps(
      plan, what, [&](const Step& step) { return step.kind == StepKind::kRlimit && step.x == resource->second; });
  // RLIMIT_DATA stands in for a memory cgroup and is there only without one.
  return name == "data" ? Status{} : removed;
}

// A procfs of its own needs a pid namespace of its own; without one the host's is what a cell would have.
void show_hosts_proc(Plan& plan) {
  for (Step& step : plan.steps) {
    if (step.kind == StepKind::kProc)
      step = {.kind = StepKind::kBind, .serves = step.serves, .a = step.a, .b = "/proc"};
  }
}

Status drop_namespace(Plan& plan, std::string_view what, std::string_view name) {
  static const std::map<std::string_view, std::uint64_t> kFlags = {{"pid", CLONE_NEWPID},
                                                                   {"net", CLONE_NEWNET},
                                                                   {"ipc", CLONE_NEWIPC},
                                                                   {"uts", CLONE_NEWUTS},
                                                                   {"cgroup", CLONE_NEWCGROUP}};
  const auto flag = kFlags.find(name);
  if (flag == kFlags.end() || (plan.namespaces & flag->second) == 0) return nothing(what);
  plan.namespaces &= ~flag->second;
  if (name == "pid") show_hosts_proc(plan);
  if (name == "net") {
    // A gateway goes, too: its routes and listeners have no place in the host's network.
    constexpr StepKind kOwn[] = {StepKind::kNetwork, StepKind::kLoopbackUp, StepKind::kLocalRoutes,
                                 StepKind::kListen,  StepKind::kPackets,    StepKind::kListenUnix};
    std::erase_if(plan.steps, [&](const Step& s) { return std::ranges::find(kOwn, s.kind) != std::end(kOwn); });
    plan.gateway.reset();
  }
  if (name == "uts") std::erase_if(plan.steps, [](const Step& s) { return s.kind == StepKind::kHostname; });
  return {};
}

Status drop_cgroup(Plan& plan, std::string_view name) {
  std::erase_if(plan.cgroup, [&](const CgroupSetting& s) { return name.empty() || to_string(s.controller) == name; });
  return {};
}

Status clear_flag(Plan& plan, std::string_view what, std::uint64_t flag) {
  bool found = false;
  for (Step& step : plan.steps) {
    if (step.kind != StepKind::kBind && step.kind != StepKind::kBindFd && step.kind != StepKind::kScratchDir) continue;
    found |= (step.x & flag) != 0;
    step.x &= ~flag;
  }
  if (flag == wire::kReadOnly) {
    for (HostMount& mount : plan.host_mounts) mount.writable = true;
  }
  return found ? Status{} : nothing(what);
}

Status uncap_scratch(Plan& plan, std::string_view what) {
  for (Step& step : plan.steps) {
    if (step.kind != StepKind::kScratch) continue;
    step.x = 0;  // tmpfs reads 0 as "no limit"
    step.y = 0;
    return {};
  }
  return nothing(what);
}

Status bind_devices_unchecked(Plan& plan, std::string_view what) {
  bool found = false;
  for (Step& step : plan.steps) {
    if (step.kind != StepKind::kDevice) continue;
    step = {.kind = StepKind::kBind,
            .serves = step.serves,
            .a = step.a,
            .b = step.b,
            .x = wire::kAllowDevices | wire::kNoExec};
    found = true;
  }
  return found ? Status{} : nothing(what);
}

Status refuse_unknown_calls(Plan& plan, std::string_view what) {
  for (Step& step : plan.steps) {
    if (step.kind != StepKind::kFilter) continue;
    for (std::size_t at = 0; at + sizeof(sock_filter) <= step.data.size(); at += sizeof(sock_filter)) {
      sock_filter instruction{};
      std::memcpy(&instruction, step.data.data() + at, sizeof instruction);
      if (instruction.code != (BPF_RET | BPF_K) || instruction.k != (SECCOMP_RET_ERRNO | ENOSYS)) continue;
      instruction.k = SECCOMP_RET_ERRNO | EPERM;
      std::memcpy(step.data.data() + at, &instruction, sizeof instruction);
    }
    return {};
  }
  return nothing(what);
}

Status become_root(Plan& plan, std::string_view what) {
  for (Step& step : plan.steps) {
    if (step.kind != StepKind::kIdentity) continue;
    step.x = 0;
    step.y = 0;
    plan.inside_uid = 0;
    plan.inside_gid = 0;
    return {};
  }
  return nothing(what);
}

// Tier 0: the guest stays who the engine is.
Status keep_identity(Plan& plan, std::string_view what) {
  plan.own_host_uid = false;
  return drop_kinds(plan, what, {StepKind::kIdentity});
}

Status pass_environment(Plan& plan) {
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view entry = *at;
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    plan.env.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return {};
}

// As if the engine, or a backend it calls, had taken them for its own options.
Status eat_options(Plan& plan, std::string_view what) {
  const auto count = std::erase_if(plan.argv, [](const std::string& word) { return word.starts_with('-'); });
  return count > 0 ? Status{} : nothing(what);
}

// File systems of the kernel's own cannot be mapped to another owner.
bool is_kernel_file_system(std::string_view path) {
  return path.starts_with("/proc") || path.starts_with("/sys") || path.starts_with("/dev");
}

Status expose(Plan& plan, std::string_view what, std::string_view path) {
  if (path.size() < 2 || path.front() != '/') return nothing(what);
  Step step{.kind = StepKind::kBind,
            .serves = Guarantee::kFileSystem,
            .a = std::string(path.substr(1)),
            .b = std::string(path)};
  if (plan.own_host_uid && !is_kernel_file_system(path)) {
    step.kind = StepKind::kBindFd;
    step.y = plan.host_mounts.size();
    plan.host_mounts.push_back({std::string(path), true});
  }
  // In place of what the plan would have mounted there, and after everything below it.
  std::erase_if(plan.steps, [&](const Step& s) {
    return (s.kind == StepKind::kProc && step.a == "proc") ||
           (s.kind == StepKind::kFile && s.a.starts_with(step.a + "/"));
  });
  const auto pivot = std::ranges::find(plan.steps, StepKind::kPivot, &Step::kind);
  if (pivot == plan.steps.end()) return nothing(what);
  plan.steps.insert(pivot, std::move(step));
  return {};
}

// The tree below what takes the guest's changes is no longer read-only.
Status open_trees(Plan& plan, std::string_view what) {
  bool found = false;
  for (Step& step : plan.steps) {
    if (step.serves != Guarantee::kWorkspace || (step.x & wire::kReadOnly) == 0) continue;
    step.x &= ~static_cast<std::uint64_t>(wire::kReadOnly);
    found = true;
  }
  return found ? Status{} : nothing(what);
}

Status uncover_trees(Plan& plan, std::string_view what) {
  CLOCHE_TRY(open_trees(plan, what));
  return drop_kinds(plan, what, {StepKind::kOverlay, StepKind::kCopyTree});
}

Status remove_pivot(Plan& plan, std::string_view what) {
  for (Step& step : plan.steps) {
    if (step.kind == StepKind::kExec) step.b = "/";  // the cell's own directories are not there without its root
  }
  return drop_kinds(plan, what, {StepKind::kPivot});
}

}  // namespace

Status weaken(Plan& plan, std::string_view what) {
  const auto colon = what.find(':');
  const std::string_view head = what.substr(0, colon);
  const std::string_view tail = colon == std::string_view::npos ? std::string_view{} : what.substr(colon + 1);
  if (what == "filter:enosys") return refuse_unknown_calls(plan, what);
  if (what == "identity") return keep_identity(plan, what);
  if (what == "identity:root") return become_root(plan, what);
  if (head == "rlimit" && !tail.empty()) return drop_rlimit(plan, what, tail);
  if (head == "namespaces") return drop_namespace(plan, what, tail);
  if (head == "cgroup") return drop_cgroup(plan, tail);
  if (head == "expose") return expose(plan, what, tail);
  if (what == "arguments") return eat_options(plan, what);
  if (what == "environment") return pass_environment(plan);
  if (what == "noexec") return clear_flag(plan, what, wire::kNoExec);
  if (what == "read-only") return clear_flag(plan, what, wire::kReadOnly);
  if (what == "scratch-caps") return uncap_scratch(plan, what);
  if (what == "device-checks") return bind_devices_unchecked(plan, what);
  if (what == "workspace") return uncover_trees(plan, what);
  if (what == "workspace:lower") return open_trees(plan, what);
  if (what == "pivot") return remove_pivot(plan, what);
  if (what == "landlock") {
    return drop_kinds(plan, what, {StepKind::kLandlock, StepKind::kLandlockRule, StepKind::kLandlockRestrict});
  }
  static const std::map<std::string_view, StepKind> kSingle = {{"filter", StepKind::kFilter},
                                                               {"no-new-privs", StepKind::kNoNewPrivs},
                                                               {"session", StepKind::kGuestSession},
                                                               {"capabilities", StepKind::kDropCapabilities},
                                                               {"parent-death", StepKind::kParentDeath},
                                                               {"keyring", StepKind::kKeyring},
                                                               {"proc", StepKind::kProc},
                                                               {"root-read-only", StepKind::kRootReadOnly},
                                                               {"affinity", StepKind::kAffinity},
                                                               {"subreaper", StepKind::kSubreaper},
                                                               {"rlimit", StepKind::kRlimit}};
  const auto kind = kSingle.find(what);
  if (kind == kSingle.end()) {
    return fail(ErrorCode::kInvalidInput, "weaken", "nothing is called " + std::string(what),
                "see tests/security/weaken.h");
  }
  return drop_kinds(plan, what, {kind->second});
}

}  // namespace cloche::security
