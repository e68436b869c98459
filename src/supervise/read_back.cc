#include "supervise/read_back.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "supervise/gateway_check.h"
#include "wire/wire.h"

namespace cloche {
namespace {

std::string value_or(const std::map<std::string, std::string>& map, const std::string& key) {
  auto it = map.find(key);
  return it == map.end() ? "?" : it->second;
}

// One answer of the kernel: what was read, and whether it is what was promised.
struct Answer {
  bool holds = false;
  std::string evidence;
};

class Judge {
 public:
  Judge(const Plan& plan, const Inspection& seen) : plan_(plan), seen_(seen) {}

  // All but the bounding set, which takes privilege to empty.
  bool own_sets_empty() const {
    for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) {
      if (value_or(seen_.status, set).find_first_not_of('0') != std::string::npos) return false;
    }
    return true;
  }

  // What a guarantee rests on even where it is weakened: nothing runs as root, nothing with a capability in hand, and
  // what is left of file access is Landlock's.
  bool lacks_its_core(Guarantee g) const {
    switch (g) {
      case Guarantee::kIdentity:
        return seen_.host_uid == 0;
      case Guarantee::kCapabilities:
        return !own_sets_empty();
      case Guarantee::kFileSystem:
        return in_cell() && !open_to_guest().empty();
      case Guarantee::kFileAccess:
        return (seen_.probe & wire::kProbeLandlockHeld) == 0;
      default:
        return false;
    }
  }

  Answer answer(Guarantee g) const {
    switch (g) {
      case Guarantee::kEnvironment:
        return {true, fmt::format("{} variables handed to exec", plan_.env.size())};
      case Guarantee::kDescriptors:
        return {true, "0, 1, 2; close_range succeeded for the rest"};
      case Guarantee::kSession:
        return session();
      case Guarantee::kEngineDeath:
        return {true, seen_.leased ? "engine seen alive at the control socket; init ends when that closes"
                                   : "parent-death signal set, engine seen alive afterwards"};
      case Guarantee::kTreeKill:
        return tree_kill();
      case Guarantee::kIdentity:
        return identity();
      case Guarantee::kNoNewPrivs:
        return status_is("NoNewPrivs", "1");
      case Guarantee::kCapabilities:
        return capabilities();
      case Guarantee::kKeyring:
        return probe(wire::kProbeKeyringFresh, "new session keyring joined");
      case Guarantee::kProcesses:
        return own_namespace("pid");
      case Guarantee::kFileSystem:
        return file_system();
      case Guarantee::kFileAccess:
        return probe(wire::kProbeLandlockHeld, "a readable path outside the rules gave EACCES");
      case Guarantee::kProcView:
        return proc_view();
      case Guarantee::kDevices:
        return devices();
      case Guarantee::kNetwork:
        return network();
      case Guarantee::kIpc:
        return in_cell() ? own_namespace("ipc") : Answer{true, "the filter refuses it"};
      case Guarantee::kHostname:
        return own_namespace("uts");
      case Guarantee::kSystemCalls:
        return system_calls();
      case Guarantee::kCoreDumps:
        return core_dumps();
      case Guarantee::kWall:
        return {true, fmt::format("timer of {}", plan_.wall ? to_text(*plan_.wall) : "none")};
      case Guarantee::kCpuTime:
        return cpu_time();
      case Guarantee::kCpuShare:
        return cpu_share();
      case Guarantee::kMemory:
        return memory();
      case Guarantee::kPids:
        return pids();
      case Guarantee::kOpenFiles:
        return rlimit("Max open files", plan_.limits.files);
      case Guarantee::kOutput:
        return {true, fmt::format("{} for both streams", to_text(plan_.limits.output))};
      case Guarantee::kDisk:
        return disk();
      case Guarantee::kWorkspace:
        return workspaces();
      case Guarantee::kGateway:
        return {!seen_.gateway.empty(), seen_.gateway.empty() ? "no gateway was read back" : seen_.gateway};
      case Guarantee::kTraffic:
        return traffic();
    }
    return {};
  }

 private:
  bool in_cell() const { return plan_.tier != Tier::kProcess; }

  Answer status_is(const std::string& key, const std::string& want) const {
    const std::string got = value_or(seen_.status, key);
    return {got == want, key + " " + got};
  }

  Answer probe(std::uint32_t bit, const char* text) const {
    const bool held = (seen_.probe & bit) != 0;
    return {held, held ? text : std::string("not seen: ") + text};
  }

  Answer own_namespace(const std::string& name) const {
    auto it = seen_.namespaces.find(name);
    if (it == seen_.namespaces.end()) return {false, name + " namespace is the engine's own"};
    return {true, it->second};
  }

  // What a process meets at this path. The order of the list says nothing about that; the parents do.
  const MountReading* mount(const std::string& point) const {
    for (const MountReading& m : seen_.mounts) {
      if (m.point == point && !covered(m) && reachable(m)) return &m;
    }
    return nullptr;
  }

  // Somebody has it as a parent at the very same place.
  bool covered(const MountReading& m) const {
    return std::ranges::any_of(seen_.mounts, [&](const MountReading& other) {
      return other.point == m.point && other.parent == m.id && other.id != m.id;
    });
  }

  // No later mount lies on the way: one further up with the same parent, or one that covers the parent.
  bool reachable(const MountReading& m) const {
    const MountReading* at = &m;
    for (std::size_t depth = 0; depth < seen_.mounts.size(); ++depth) {
      const bool passed_over = std::ranges::any_of(seen_.mounts, [&](const MountReading& other) {
        return other.parent == at->parent && other.id != at->id && other.point != "/" &&
               at->point.starts_with(other.point + "/");
      });
      if (passed_over) return false;
      const auto parent = std::ranges::find(seen_.mounts, at->parent, &MountReading::id);
      if (parent == seen_.mounts.end() || parent->id == at->id) return true;
      if (parent->point != at->point && covered(*parent)) return false;
      at = &*parent;
    }
    return false;
  }

  Answer rlimit(const std::string& name, std::uint64_t most) const {
    auto it = seen_.limits.find(name);
    if (it == seen_.limits.end()) return {false, name + " not reported"};
    const std::string& hard = it->second.hard;
    const bool number = !hard.empty() && hard.size() < 19 && hard.find_first_not_of("0123456789") == std::string::npos;
    return {number && std::stoull(it->second.hard) <= most && it->second.soft == it->second.hard,
            name + " " + it->second.hard};
  }

  // The first number of a text, or nothing: a kernel's "max", and whatever else is not a plain number.
  static std::optional<std::uint64_t> number(std::string_view text) {
    text = text.substr(0, text.find(' '));
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
    return value;
  }

  Answer cgroup(const std::string& file, std::uint64_t most) const {
    auto it = seen_.cgroup_files.find(file);
    if (it == seen_.cgroup_files.end()) return {false, file + " not there"};
    const auto value = number(it->second);
    return {value && *value <= most, file + " " + it->second};
  }

  // A piped core_pattern ignores a limit of 0, which an inherited hard limit may have forced on us.
  Answer core_dumps() const {
    Answer a = rlimit("Max core file size", 1);
    if (a.evidence.ends_with(" 0") && seen_.core_pattern.starts_with('|')) {
      return {false,
              a.evidence + ", but core_pattern is a pipe, which ignores 0: start cloche with a hard limit above 0"};
    }
    return a;
  }

  // The last number of NSsid and NSpid is the innermost namespace's.
  static std::string innermost(const std::string& text) { return text.substr(text.find_last_of("\t ") + 1); }

  Answer session() const {
    const std::string sid = innermost(value_or(seen_.status, "NSsid"));
    return {sid == innermost(value_or(seen_.status, "NSpid")) && sid != "?", "leads its own session " + sid};
  }

  Answer tree_kill() const {
    if (!in_cell()) return {true, "init is the tree's reaper"};
    return own_namespace("pid");
  }

  Answer identity() const {
    const std::string uid = value_or(seen_.status, "Uid");
    const std::string host = std::to_string(seen_.host_uid);
    const std::string groups = value_or(seen_.status, "Groups");
    bool holds = uid == host + "\t" + host + "\t" + host + "\t" + host;
    std::string evidence =
        "host uid " + uid.substr(0, uid.find('\t')) + (groups.empty() ? ", no groups" : ", groups " + groups);
    holds = holds && seen_.host_uid != 0;
    if (plan_.own_host_uid) holds = holds && groups.empty();
    if (in_cell()) {
      const std::string map = fmt::format("{} {} 1", plan_.inside_uid, seen_.host_uid);
      holds = holds && seen_.uid_map == map;
      evidence += ", map " + seen_.uid_map;
    }
    return {holds, evidence};
  }

  Answer capabilities() const {
    std::string evidence;
    bool empty = true;
    for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
      const std::string value = value_or(seen_.status, set);
      if (value.find_first_not_of('0') != std::string::npos) {
        empty = false;
        evidence += (evidence.empty() ? "" : ", ") + std::string(set) + " " + value;
      }
    }
    return {empty, empty ? "all five sets 0" : evidence};
  }

  // Nothing writable but the scratch and the grants; nothing honours setuid; devices only where they are bound.
  Answer file_system() const {
    if (!in_cell()) return {true, "the host's root"};
    Answer own = own_namespace("mnt");
    const MountReading* root = mount("/");
    if (root == nullptr || root->type != "tmpfs" || !root->has("ro")) {
      return {false, root == nullptr ? "no root seen" : "root is " + root->type + " " + root->options};
    }
    for (const MountReading& m : seen_.mounts) {
      if (!m.has("nosuid")) return {false, m.point + " honours setuid"};
      if (!m.has("nodev") && !m.point.starts_with("/dev")) return {false, m.point + " honours devices"};
    }
    if (const std::string open = open_to_guest(); !open.empty()) return {false, open + " is not hidden"};
    const std::string hidden =
        plan_.hidden.empty() ? std::string() : fmt::format("; hidden: {}", fmt::join(plan_.hidden, ", "));
    return {own.holds, fmt::format("{}, root tmpfs read-only, {} mounts, all nosuid{}", own.evidence,
                                   seen_.mounts.size(), hidden)};
  }

  // What was to be hidden and is not: what a guest meets there must be the empty directory that was made for it.
  std::string open_to_guest() const {
    constexpr std::uint64_t kPage = 64;  // KiB, and the largest that there is
    for (const std::string& path : plan_.hidden) {
      const MountReading* cover = mount(path);
      const auto size = cover != nullptr && cover->type == "tmpfs" ? tmpfs_option(*cover, "size=") : std::nullopt;
      if (!size || *size > kPage || !cover->has("ro")) return path;
    }
    return {};
  }

  Answer proc_view() const {
    if (!in_cell()) return {true, "Landlock forbids /proc"};
    const MountReading* proc = mount("/proc");
    if (proc == nullptr) return {true, "no /proc"};
    const bool processes_only = proc->has("subset=pid") && proc->has("ro");
    const MountReading* settings = mount("/proc/sys");
    const bool masked = settings != nullptr && settings->type == "tmpfs" && settings->has("ro");
    return {processes_only || masked, processes_only ? "subset=pid, read-only"
                                      : masked       ? "kernel files masked"
                                                     : proc->super_options};
  }

  Answer devices() const {
    if (!in_cell()) return {true, "Landlock allows five devices"};
    std::size_t bound = 0;
    for (const MountReading& m : seen_.mounts) {
      if (m.point.starts_with("/dev/") && m.type == "devtmpfs") ++bound;
    }
    return {mount("/dev/null") != nullptr, fmt::format("{} device files bound, no device directory", bound)};
  }

  Answer network() const {
    if (!in_cell()) return {true, "the filter refuses inet sockets"};
    return own_namespace("net");
  }

  Answer system_calls() const {
    const std::string mode = value_or(seen_.status, "Seccomp");
    const bool held = mode == "2" && (seen_.probe & wire::kProbeFilterHeld) != 0;
    return {held, fmt::format("Seccomp {}, {} filter(s), a forbidden call gave EPERM", mode,
                              value_or(seen_.status, "Seccomp_filters"))};
  }

  Answer cpu_time() const {
    if (seen_.cgroup_files.contains("cpuacct.usage") || seen_.cgroup_files.contains("cpu.stat")) {
      return {true, fmt::format("cpu clock of the cell at limit {}", to_text(*plan_.limits.cpu_time))};
    }
    return rlimit("Max cpu time", static_cast<std::uint64_t>(plan_.limits.cpu_time->count() / 1000 + 2));
  }

  Answer cpu_share() const {
    const std::string cpus = "cpus allowed " + value_or(seen_.status, "Cpus_allowed_list");
    constexpr double kPeriod = 100'000;
    const auto most = static_cast<std::uint64_t>(plan_.limits.cpus * kPeriod);
    for (const char* file : {"cpu.cfs_quota_us", "cpu.max"}) {
      if (!seen_.cgroup_files.contains(file)) continue;
      Answer a = cgroup(file, most);
      a.evidence += ", " + cpus;
      return a;
    }
    return {count_cpus(value_or(seen_.status, "Cpus_allowed_list")) <= std::ceil(plan_.limits.cpus), cpus};
  }

  // "0,2-3" is three.
  static double count_cpus(std::string_view list) {
    double count = 0;
    while (!list.empty()) {
      const std::string_view range = list.substr(0, list.find(','));
      list.remove_prefix(std::min(range.size() + 1, list.size()));
      const std::size_t dash = range.find('-');
      const auto first = number(range.substr(0, dash));
      const auto last = dash == std::string_view::npos ? first : number(range.substr(dash + 1));
      if (!first || !last || *last < *first) return std::numeric_limits<double>::infinity();
      count += static_cast<double>(*last - *first + 1);
    }
    return count;
  }

  Answer memory() const {
    for (const char* file : {"memory.limit_in_bytes", "memory.max"}) {
      // The kernel rounds to whole pages.
      if (seen_.cgroup_files.contains(file)) return cgroup(file, plan_.limits.memory.count + 4095);
    }
    return rlimit("Max data size", plan_.limits.memory.count);
  }

  Answer pids() const {
    constexpr std::uint64_t kOwn = 2;  // init, and bwrap's monitor
    if (seen_.cgroup_files.contains("pids.max")) {
      Answer a = cgroup("pids.max", plan_.limits.pids + kOwn);
      a.evidence += " (with init), " + rlimit("Max processes", ~0ull).evidence;
      return a;
    }
    const std::uint64_t most = limit_of_processes();
    return rlimit("Max processes", most);
  }

  std::uint64_t limit_of_processes() const {
    constexpr std::uint64_t kNproc = 6;
    for (const Step& step : plan_.steps) {
      if (step.kind == wire::StepKind::kRlimit && step.x == kNproc) return step.y;
    }
    return plan_.limits.pids + 1;
  }

  Answer disk() const {
    if (!in_cell()) return rlimit("Max file size", plan_.limits.disk.count);
    const MountReading* work = mount("/work");
    if (!plan_.own_disk.empty()) return own_disk(work);
    if (work == nullptr || work->type != "tmpfs") return {false, "/work is not a tmpfs"};
    const auto kibibytes_allowed = tmpfs_option(*work, "size=");
    const auto inodes = tmpfs_option(*work, "nr_inodes=");
    const bool sized = kibibytes_allowed && *kibibytes_allowed * 1024 <= scratch_bytes() + 4095;
    // bwrap cannot cap inodes; its plan says so.
    const bool counted = plan_.backend == Backend::kBwrap || (inodes && *inodes <= scratch_inodes());
    return {sized && counted, "scratch " + work->super_options};
  }

  // Asked when some of it is in use already, so more is never seen than there is.
  Answer own_disk(const MountReading* work) const {
    constexpr std::uint64_t kRounding = 1 << 20;
    if (!seen_.own_disk || work == nullptr || work->device != seen_.own_disk->device) {
      return {false, "/work is not on the disk that was made for it"};
    }
    const auto& [device, bytes, files] = *seen_.own_disk;
    return {bytes <= scratch_bytes() + scratch_bytes() / 32 + kRounding && files <= scratch_inodes(),
            fmt::format("scratch {} at {}, {} bytes and {} files free", work->type, device, bytes, files)};
  }

  Answer traffic() const {
    if (!plan_.gateway || !seen_.gateway_limits) return {false, "no gateway was asked"};
    return {has_limits(plan_.gateway->limits, *seen_.gateway_limits), limits_text(*seen_.gateway_limits)};
  }

  // What is copied in needs room beside what the guest may write.
  std::uint64_t scratch_bytes() const { return std::max(plan_.scratch_bytes.count, plan_.limits.disk.count); }
  std::uint64_t scratch_inodes() const { return std::max(plan_.scratch_inodes, plan_.limits.inodes); }

  // What a process meets there takes its changes: an overlay of this user's own, or the scratch. The host's tree lies
  // below it, read-only.
  Answer workspaces() const {
    std::string evidence;
    for (const Workspace& workspace : plan_.workspaces) {
      const MountReading* top = mount(workspace.path);
      if (top == nullptr) return {false, workspace.path + " is not a mount of its own"};
      const MountReading* work = mount("/work");
      const bool takes = workspace.copied
                             ? takes_copy(workspace, *top, work)
                             : top->type == "overlay" && top->super_options.find("upperdir=") != std::string::npos &&
                                   top->super_options.find("userxattr") != std::string::npos;
      if (!takes) return {false, workspace.path + " is " + top->type + " " + top->super_options};
      const auto below = std::ranges::find(seen_.mounts, top->parent, &MountReading::id);
      if (below == seen_.mounts.end() || below->point != workspace.path || !below->has("ro")) {
        return {false, workspace.path + ": the tree below it is not read-only"};
      }
      evidence += fmt::format("{}{} on {}, the tree below read-only", evidence.empty() ? "" : "; ",
                              workspace.copied ? "copy" : "overlay", workspace.path);
    }
    return {!plan_.workspaces.empty(), evidence};
  }

  bool takes_copy(const Workspace& workspace, const MountReading& top, const MountReading* work) const {
    if (plan_.disk_scratch.empty()) {
      return top.type == "tmpfs" && work != nullptr && top.super_options == work->super_options;
    }
    // The run's own directory, wherever its file system is mounted.
    const std::size_t run = plan_.disk_scratch.rfind('/', plan_.disk_scratch.rfind('/') - 1);
    return top.root.ends_with(plan_.disk_scratch.substr(run) + "/" + workspace.scratch + "/" + wire::kUpperName);
  }

  static std::optional<std::uint64_t> tmpfs_option(const MountReading& mount, std::string_view key) {
    const std::size_t at = mount.super_options.find(key);
    if (at == std::string::npos) return std::nullopt;
    std::string_view text = std::string_view(mount.super_options).substr(at + key.size());
    text = text.substr(0, text.find_first_not_of("0123456789"));
    return number(text);
  }

  const Plan& plan_;
  const Inspection& seen_;
};

}  // namespace

Inspection understand(const Transcript& text) {
  Inspection out;
  out.status = parse_status(text.status);
  out.limits = parse_limits(text.limits);
  out.mounts = parse_mountinfo(text.mountinfo);
  out.cgroups = parse_cgroup(text.cgroup);
  // Columns become single spaces, and the line's end goes.
  for (char c : text.uid_map) {
    const bool space = c == ' ' || c == '\n';
    if (!space) out.uid_map += c;
    if (space && !out.uid_map.empty() && out.uid_map.back() != ' ') out.uid_map += ' ';
  }
  while (!out.uid_map.empty() && out.uid_map.back() == ' ') out.uid_map.pop_back();
  // Only a limit of 0 makes the pattern matter.
  if (auto core = out.limits.find("Max core file size"); core != out.limits.end() && core->second.hard == "0") {
    out.core_pattern = text.core_pattern;
  }
  out.namespaces = text.namespaces;
  out.cgroup_files = text.cgroup_files;
  return out;
}

Result<std::vector<ReceiptLine>> judge(const Plan& plan, const Inspection& seen) {
  std::vector<ReceiptLine> out = plan.guarantees;
  const Judge judge(plan, seen);
  for (ReceiptLine& line : out) {
    if (line.standing == Standing::kAbsent) continue;
    Answer answer = judge.answer(line.guarantee);
    line.evidence = std::move(answer.evidence);
    // A plan knows no keeper: whose child init is shows at launch.
    if (line.guarantee == Guarantee::kEngineDeath && seen.leased) line.mechanism = "control socket, watched by init";
    if (judge.lacks_its_core(line.guarantee) || (line.standing == Standing::kHeld && !answer.holds)) {
      return fail(ErrorCode::kSystem, std::string(to_string(line.guarantee)),
                  fmt::format("the guarantee was set up, but {} says otherwise: {}",
                              line.guarantee == Guarantee::kTraffic ? "the gateway" : "the kernel", line.evidence),
                  "the run was not started; 'cloche doctor' shows what this host gives");
    }
  }
  return out;
}

}  // namespace cloche
