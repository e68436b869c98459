#include "plan/offers.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "plan/offer_hints.h"

namespace cloche {
namespace {

using G = Guarantee;
using Version = CgroupFacts::Version;

// The guest of a root engine gets host uid 0x71000000 + pid; pids reach 0x400000.
constexpr std::uint64_t kOwnUidSpan = 0x71400000ull + 1;
constexpr int kLandlockTcp = 4;
// The child sets its own aside at 100; a run holds about 30 meanwhile.
constexpr std::uint64_t kEngineFiles = 128;
constexpr int kLandlockScopes = 6;

class Table {
 public:
  void held(G g, std::string mechanism) { set(g, Standing::kHeld, std::move(mechanism), {}); }
  void weak(G g, std::string mechanism, std::string hint) {
    set(g, Standing::kWeakened, std::move(mechanism), std::move(hint));
  }
  void absent(G g, std::string mechanism, std::string hint) {
    set(g, Standing::kAbsent, std::move(mechanism), std::move(hint));
  }
  std::vector<Offer> take() {
    std::vector<Offer> list;
    list.reserve(kGuaranteeCount);
    for (const G g : all_guarantees()) {
      Offer& offer = offers_[static_cast<std::size_t>(g)];
      offer.guarantee = g;
      list.push_back(std::move(offer));
    }
    return list;
  }

 private:
  void set(G g, Standing standing, std::string mechanism, std::string hint) {
    offers_[static_cast<std::size_t>(g)] = {g, standing, std::move(mechanism), std::move(hint)};
  }
  std::array<Offer, kGuaranteeCount> offers_;
};

bool has(const HostFacts& host, Controller controller) { return host.cgroup.at(controller).has_value(); }

std::string cgroup_name(const HostFacts& host, std::string_view controller) {
  return fmt::format("cgroup {} {}", host.cgroup.version == Version::kV2 ? "v2" : "v1", controller);
}

// Version 2 counts cpu time in every cgroup; version 1 has a controller for it.
bool counts_cpu(const HostFacts& host) {
  if (host.cgroup.version != Version::kV2) return has(host, Controller::kCpuAcct);
  return has(host, Controller::kPids) || has(host, Controller::kMemory) || has(host, Controller::kCpu);
}

// What can kill a whole cgroup: one file in version 2; in version 1 a list of processes that is read until it is empty.
std::string cgroup_killer(const HostFacts& host) {
  if (host.cgroup.version == Version::kV2) return host.cgroup_kill ? "cgroup.kill" : "cgroup v2 process list";
  return has(host, Controller::kPids) ? "cgroup v1 process list" : "";
}

void common(Table& table, const HostFacts& host) {
  table.held(G::kEnvironment, "built from an allowlist");
  table.held(G::kDescriptors, "close_range");
  table.held(G::kSession, "setsid, no controlling terminal");
  table.held(G::kEngineDeath, "parent-death signal");
  table.held(G::kNoNewPrivs, "no_new_privs");
  table.held(G::kCapabilities, "all sets dropped, securebits locked");
  table.held(G::kKeyring, "fresh session keyring, keyctl filtered");
  table.held(G::kWall, "supervisor's timer");
  table.held(G::kOutput, "supervisor counts");
  table.held(G::kOpenFiles, "RLIMIT_NOFILE");
  if (host.seccomp_filter) {
    table.held(G::kSystemCalls, "seccomp filter");
    table.held(G::kCoreDumps, "RLIMIT_CORE and filter");
  } else {
    table.absent(G::kSystemCalls, "no seccomp filter in this kernel", hints::seccomp());
    table.weak(G::kCoreDumps, "RLIMIT_CORE, which a piped core_pattern ignores", hints::seccomp());
  }
}

void limits(Table& table, const HostFacts& host) {
  if (counts_cpu(host)) {
    table.held(G::kCpuTime,
               cgroup_name(host, host.cgroup.version == Version::kV2 ? "cpu.stat" : "cpuacct") + " and RLIMIT_CPU");
  } else {
    table.weak(G::kCpuTime, "RLIMIT_CPU per process", hints::cgroup(host, Controller::kCpuAcct));
  }
  if (has(host, Controller::kCpu)) {
    table.held(G::kCpuShare, cgroup_name(host, "cpu quota"));
  } else {
    table.weak(G::kCpuShare, "cpu affinity, whole cpus", hints::cgroup(host, Controller::kCpu));
  }
  if (has(host, Controller::kMemory)) {
    table.held(G::kMemory, cgroup_name(host, "memory"));
  } else {
    table.weak(G::kMemory, "RLIMIT_AS per process", hints::cgroup(host, Controller::kMemory));
  }
}

void identity(Table& table, const HostFacts& host, std::string_view how) {
  if (host.is_root && host.uid_span >= kOwnUidSpan) {
    table.held(G::kIdentity, "a host uid of its own");
  } else if (host.uid == 0) {
    // Never the engine's own uid: that one is root, even where it lacks some capabilities.
    table.absent(G::kIdentity, "no host uid of its own can be mapped", hints::own_uid(host));
  } else if (host.supplementary_groups > 0) {
    table.weak(G::kIdentity,
               fmt::format("your uid, with {} supplementary group{}", host.supplementary_groups,
                           host.supplementary_groups == 1 ? "" : "s"),
               hints::groups());
  } else {
    table.held(G::kIdentity, fmt::format("your uid, {}no groups", how));
  }
}

void file_access(Table& table, const HostFacts& host) {
  if (host.landlock_abi >= 1) {
    table.held(G::kFileAccess, fmt::format("Landlock ABI {}", host.landlock_abi));
  } else {
    table.absent(G::kFileAccess, "no Landlock", hints::landlock(host, 1));
  }
}

void namespaced(Table& table, const HostFacts& host) {
  common(table, host);
  limits(table, host);
  file_access(table, host);
  const std::string killer = cgroup_killer(host);
  table.held(G::kTreeKill, killer.empty() ? "pid namespace" : "pid namespace and " + killer);
  table.held(G::kEngineDeath, "parent-death signal on the pid namespace's init");
  table.held(G::kProcesses, "pid namespace");
  table.held(G::kDevices, "own /dev with checked devices, nodev elsewhere");
  table.held(G::kNetwork, host.seccomp_filter ? "network namespace and filter" : "network namespace");
  table.held(G::kIpc, "IPC namespace");
  table.held(G::kHostname, "UTS namespace");
  if (has(host, Controller::kPids)) {
    table.held(G::kPids, cgroup_name(host, "pids") + " and RLIMIT_NPROC");
  } else if (host.nproc_per_namespace) {
    table.held(G::kPids, "RLIMIT_NPROC per user namespace");
  } else if (host.is_root && host.uid_span >= kOwnUidSpan) {
    table.held(G::kPids, "RLIMIT_NPROC of the guest's own uid");
  } else {
    table.weak(G::kPids, "RLIMIT_NPROC, counts all your processes", hints::cgroup(host, Controller::kPids));
  }
}

std::vector<Offer> namespace_offers(const HostFacts& host) {
  Table table;
  namespaced(table, host);
  identity(table, host, "one-entry map, ");
  if (host.mount_api) {
    table.held(G::kFileSystem, "mount namespace, own root, pivot_root");
  } else {
    table.absent(G::kFileSystem, "no mount API", hints::old_kernel(host));
  }
  table.held(G::kProcView, host.proc_mountable ? "fresh procfs, subset=pid" : "no /proc at all");
  table.held(G::kDisk, "tmpfs with size and inode cap");
  table.held(G::kWorkspace, "overlayfs, changes in the scratch");
  table.held(G::kGateway, "a process of its own: namespaces, no privilege, Landlock, filter");
  table.held(G::kTraffic, "the gateway's meter, asked before anything is passed on");
  return table.take();
}

std::vector<Offer> bwrap_offers(const HostFacts& host) {
  Table table;
  namespaced(table, host);
  identity(table, host, "one-entry map, ");
  // bwrap leaves its binds as slaves: what the host mounts below one of them later appears in the cell (CONTAINMENT
  // 29).
  table.weak(G::kFileSystem, "bwrap's mount namespace and root, later mounts of the host come in", hints::native());
  // Nobody checks that what it finds in the host's /dev are the devices of these names (CONTAINMENT 31, 32).
  table.weak(G::kDevices, "bwrap's /dev, binds the host's nodes as they are", hints::native());
  // bwrap mounts procfs without subset=pid; the launch covers what the native tier would not show.
  table.held(G::kProcView, host.proc_mountable ? "fresh procfs, kernel files covered" : "no /proc at all");
  table.weak(G::kDisk, "tmpfs with size cap, no inode cap", hints::native());
  table.absent(G::kWorkspace, "not with bwrap", hints::native());
  table.absent(G::kGateway, "not with bwrap", hints::native());
  table.absent(G::kTraffic, "not with bwrap", hints::native());
  return table.take();
}

// Without a pid namespace a guest that daemonises is found by its cgroup, or by walking from the subreaper. The walk
// alone can be outrun by a guest that may signal its hunters.
void process_tree(Table& table, const HostFacts& host) {
  const std::string killer = cgroup_killer(host);
  const bool scoped = host.landlock_abi >= kLandlockScopes;
  if (!killer.empty()) {
    table.held(G::kTreeKill, killer);
  } else if (scoped) {
    table.held(G::kTreeKill, "subreaper walk, signals scoped by Landlock");
  } else {
    table.weak(G::kTreeKill, "subreaper walk", hints::cgroup_any(host));
  }
  if (scoped) {
    table.weak(G::kProcesses, "signals scoped by Landlock, pids not hidden", hints::namespaces());
  } else {
    table.weak(G::kProcesses, host.is_root ? "another uid" : "may signal your processes",
               hints::landlock(host, kLandlockScopes) + ", or use tier namespace");
  }
}

void process_files(Table& table, const HostFacts& host) {
  file_access(table, host);
  if (host.landlock_abi >= 1) {
    table.weak(G::kFileSystem, "host's own root, Landlock rules only", hints::namespaces());
    table.held(G::kProcView, "/proc denied by Landlock");
    table.weak(G::kDevices, "host's /dev, Landlock rules only", hints::namespaces());
  } else {
    table.absent(G::kFileSystem, "host's own root", hints::landlock(host, 1));
    table.absent(G::kProcView, "host's own /proc", hints::landlock(host, 1));
    table.weak(G::kDevices, "host's /dev, file modes only", hints::landlock(host, 1));
  }
  table.weak(G::kDisk, "watched, RLIMIT_FSIZE per file", hints::namespaces());
  table.absent(G::kWorkspace, "no view of its own", hints::namespaces());
  table.absent(G::kGateway, "no network of its own", hints::namespaces());
  table.absent(G::kTraffic, "no network of its own", hints::namespaces());
}

void process_network(Table& table, const HostFacts& host) {
  if (host.seccomp_filter) {
    table.held(G::kNetwork, host.landlock_abi >= kLandlockTcp ? "no inet or unix sockets by filter, TCP by Landlock"
                                                              : "no inet or unix sockets by filter");
  } else {
    table.absent(G::kNetwork, "host's network", hints::seccomp());
  }
  if (host.seccomp_filter) {
    table.held(G::kIpc, "System V and POSIX IPC refused by filter");
  } else {
    table.weak(G::kIpc, "host's IPC namespace", hints::namespaces());
  }
  table.weak(G::kHostname, "host's name is visible", hints::namespaces());
}

std::vector<Offer> process_offers(const HostFacts& host) {
  Table table;
  common(table, host);
  limits(table, host);
  process_tree(table, host);
  process_files(table, host);
  process_network(table, host);
  identity(table, host, "");
  if (!host.is_root) {
    // Landlock judges contents; modes, times and attributes of the user's own files stay within the user's reach.
    if (host.landlock_abi >= 1) {
      table.weak(G::kFileAccess,
                 fmt::format("Landlock ABI {} for contents, not for modes and times", host.landlock_abi),
                 hints::namespaces());
    }
    // Only privilege can empty the bounding set; no_new_privs makes what is in it unreachable.
    table.weak(G::kCapabilities, "own sets empty, bounding set kept but unreachable by no_new_privs",
               hints::namespaces());
  }
  if (has(host, Controller::kPids)) {
    table.held(G::kPids, cgroup_name(host, "pids") + " and RLIMIT_NPROC");
  } else if (host.is_root && host.uid_span >= kOwnUidSpan) {
    table.held(G::kPids, "RLIMIT_NPROC of the guest's own uid");
  } else {
    table.weak(G::kPids, "RLIMIT_NPROC, counts all your processes", hints::nproc());
  }
  return table.take();
}

std::vector<Offer> none_offers() {
  Table table;
  for (const G g : all_guarantees()) table.absent(g, "not contained", hints::choose_a_backend());
  table.held(G::kWall, "supervisor's timer");
  table.held(G::kOutput, "supervisor counts");
  return table.take();
}

}  // namespace

std::vector<Offer> offers(Backend backend, const HostFacts& host) {
  switch (backend) {
    case Backend::kProcess:
      return process_offers(host);
    case Backend::kNamespace:
      return namespace_offers(host);
    case Backend::kBwrap:
      return bwrap_offers(host);
    case Backend::kNone:
      break;
  }
  return none_offers();
}

std::optional<Obstacle> obstacle(Backend backend, const HostFacts& host) {
  // Every backend: a set-uid engine would lend its rights to whoever calls it.
  if (host.set_uid_program) return Obstacle{"cloche runs set-uid, set-gid or with file capabilities", hints::set_uid()};
  if (backend == Backend::kNone) return std::nullopt;
  if (!host.init) return Obstacle{"cloche-init was not found", hints::no_init()};
  if (host.open_files < kEngineFiles) {
    return Obstacle{
        fmt::format("this process may open only {} files, an engine needs {}", host.open_files, kEngineFiles),
        hints::open_files()};
  }
  if (!host.pidfd || !host.close_range) {
    return Obstacle{"pidfd or close_range is missing, or a filter forbids it", hints::old_kernel(host)};
  }
  // Being born in a v2 group takes clone3; the older call cannot.
  if (!host.clone3 && host.cgroup.version == CgroupFacts::Version::kV2) {
    return Obstacle{"clone3 is missing or a filter hides it, and cgroup v2 needs it", hints::old_kernel(host)};
  }
  if (backend == Backend::kProcess) return std::nullopt;
  if (!host.user_namespaces) {
    const std::string why = host.user_namespaces_why.empty() ? "" : ": " + host.user_namespaces_why;
    return Obstacle{"user namespaces cannot be made" + why, hints::user_namespaces(host)};
  }
  if (backend == Backend::kBwrap) {
    if (!host.bwrap) return Obstacle{"bwrap is not installed", hints::no_bwrap()};
    if (host.is_root && !host.may_trace) {
      return Obstacle{"as root, what bwrap made cannot be looked at without CAP_SYS_PTRACE", hints::native()};
    }
    return std::nullopt;
  }
  if (!host.mount_api) {
    return Obstacle{"the mount API (open_tree, fsopen, mount_setattr) is missing", hints::old_kernel(host)};
  }
  return std::nullopt;
}

}  // namespace cloche
