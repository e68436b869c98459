#include "policy/schema_table.h"

#include <algorithm>
#include <array>

#include "policy/text.h"

namespace cloche {
namespace {

constexpr std::array<std::string_view, 4> kTiers{"process", "namespace", "container", "microvm"};
constexpr std::array<std::string_view, 4> kBackends{"auto", "native", "bwrap", "none"};
constexpr std::array<std::string_view, 2> kTrusts{"low", "medium"};
constexpr std::array<std::string_view, 4> kObserving{"off", "calls", "files", "all"};
constexpr std::array<std::string_view, 2> kModes{"require", "best-effort"};
constexpr std::array<std::string_view, 2> kNets{"none", "host"};
constexpr std::array<std::string_view, 3> kWorkspaceModes{"auto", "overlay", "copy"};
constexpr std::array<std::string_view, 2> kWorkspaceScratches{"memory", "disk"};
constexpr std::array<std::string_view, 2> kKept{"setid", "xattrs"};
constexpr std::array<std::string_view, 3> kWeakenings{"supplementary-groups", "host-network", "no-backend"};

constexpr std::uint64_t kSecond = 1'000;
constexpr std::uint64_t kMinute = 60 * kSecond;
constexpr std::uint64_t kHour = 60 * kMinute;
constexpr std::uint64_t kKibi = 1ULL << 10;
constexpr std::uint64_t kMebi = 1ULL << 20;
constexpr std::uint64_t kTebi = 1ULL << 40;

using enum KeyType;
using Rule = CeilingRule;

constexpr std::array<KeySpec, 42> kTable{{
    {Key::kVersion, "version", kVersion, Rule::kNone, 1, 1, {}, "1", "Version of the policy format; required"},
    {Key::kExtends,
     "extends",
     kParent,
     Rule::kNone,
     0,
     0,
     {},
     "\"untrusted\"",
     "Policy to start from: the name of a preset, or a path ending in .toml relative to this file"},
    {Key::kTier, "tier", kWord, Rule::kLeast, 0, 0, kTiers, "\"namespace\"", "The least tier that may run this policy"},
    {Key::kBackend, "backend", kWord, Rule::kAllowed, 0, 0, kBackends, "\"native\"",
     "Backend to use; none is no containment at all and for development only"},
    {Key::kTrust, "trust", kWord, Rule::kMost, 0, 0, kTrusts, "\"low\"",
     "How far the code is trusted; low never runs below tier namespace"},
    {Key::kObserve, "observe", kWord, Rule::kNone, 0, 0, kObserving, "\"files\"",
     "What is noticed for the report's denials: calls costs nothing where nothing is denied or changed, files also "
     "sees what cannot be read"},
    {Key::kCwd, "cwd", kPath, Rule::kNone, 0, 0, {}, "\"/work\"", "Working directory inside the cell"},
    {Key::kDevelopment,
     "development",
     kFlag,
     Rule::kMost,
     0,
     0,
     {},
     "false",
     "Development mode; the only one in which backend none is accepted"},
    {Key::kRootInCell,
     "root_in_cell",
     kFlag,
     Rule::kMost,
     0,
     0,
     {},
     "false",
     "User id 0 inside the cell; never a privilege on the host"},
    {Key::kWeaken, "weaken", kWordList, Rule::kAllowed, 0, 0, kWeakenings, "[\"supplementary-groups\"]",
     "Guarantees given up on purpose, each by its word"},
    {Key::kSecrets,
     "secrets",
     kSecrets,
     Rule::kSources,
     0,
     0,
     {},
     "[{ name = \"API_TOKEN\", hosts = [\"api.example.org:443\"], header = \"Authorization\", value_env = \"TOKEN\" }]",
     "Credentials the guest uses and never holds: it sees a placeholder, the gateway puts the value into requests"},
    {Key::kLimitsMode, "limits.mode", kWord, Rule::kMost, 0, 0, kModes, "\"require\"",
     "Whether a limit this host cannot enforce refuses the run (require) or is reported (best-effort)"},
    {Key::kLimitsWall,
     "limits.wall",
     kDuration,
     Rule::kMost,
     1,
     720 * kHour,
     {},
     "\"60s\"",
     "Wall-clock time of the run; absent: 300 s, or none when the caller can cancel"},
    {Key::kLimitsGrace,
     "limits.grace",
     kDuration,
     Rule::kMost,
     1,
     5 * kMinute,
     {},
     "\"5s\"",
     "Time between SIGTERM and SIGKILL"},
    {Key::kLimitsCpuTime,
     "limits.cpu_time",
     kDuration,
     Rule::kMost,
     1,
     720 * kHour,
     {},
     "\"60s\"",
     "Processor time of the whole cell; absent: not limited beyond wall and cpus"},
    {Key::kLimitsCpus,
     "limits.cpus",
     kShare,
     Rule::kMost,
     1,
     102'400,
     {},
     "1.5",
     "Processor share; 1.5 is one and a half cores"},
    {Key::kLimitsMemory,
     "limits.memory",
     kBytes,
     Rule::kMost,
     kMebi,
     16 * kTebi,
     {},
     "\"512M\"",
     "Memory of the whole cell"},
    {Key::kLimitsPids,
     "limits.pids",
     kCount,
     Rule::kMost,
     1,
     4'194'304,
     {},
     "64",
     "Processes and threads of the whole cell"},
    {Key::kLimitsFiles,
     "limits.files",
     kCount,
     Rule::kMost,
     16,
     1'048'576,
     {},
     "256",
     "Open descriptors of each process"},
    {Key::kLimitsOutput,
     "limits.output",
     kBytes,
     Rule::kMost,
     1,
     kTebi,
     {},
     "\"8M\"",
     "Bytes of stdout and stderr together"},
    {Key::kLimitsDisk,
     "limits.disk",
     kBytes,
     Rule::kMost,
     4 * kKibi,
     16 * kTebi,
     {},
     "\"256M\"",
     "Bytes the cell can write to its own file systems"},
    {Key::kLimitsInodes,
     "limits.inodes",
     kCount,
     Rule::kMost,
     16,
     100'000'000,
     {},
     "16384",
     "Files and directories the cell can make in them"},
    {Key::kFilesRead,
     "files.read",
     kPathList,
     Rule::kPrefixes,
     0,
     0,
     {},
     "[\"~/sdk\"]",
     "Host paths the guest may read"},
    {Key::kFilesWrite,
     "files.write",
     kPathList,
     Rule::kPrefixes,
     0,
     0,
     {},
     "[\"~/out\"]",
     "Host paths the guest may write; written through to the host"},
    {Key::kFilesExec,
     "files.exec",
     kPathList,
     Rule::kPrefixes,
     0,
     0,
     {},
     "[\"/opt/tool/bin\"]",
     "Host paths the guest may read and execute"},
    {Key::kFilesExecWritable,
     "files.exec_writable",
     kFlag,
     Rule::kMost,
     0,
     0,
     {},
     "false",
     "Whether the guest may execute what it wrote"},
    {Key::kWorkspacePath,
     "workspace.path",
     kPlaceList,
     Rule::kPrefixes,
     0,
     0,
     {},
     "[\"~/project\"]",
     "Host directories the guest sees and may change while they stay as they are; see cloche diff and apply"},
    {Key::kWorkspaceMode, "workspace.mode", kWord, Rule::kNone, 0, 0, kWorkspaceModes, "\"auto\"",
     "How: by overlayfs, on a copy, or whichever of them this host can do"},
    {Key::kWorkspaceScratch, "workspace.scratch", kWord, Rule::kNone, 0, 0, kWorkspaceScratches, "\"memory\"",
     "Where the changes lie until the run is over: in memory, or on the disk in the run's own directory"},
    {Key::kWorkspaceKeep, "workspace.keep", kWordList, Rule::kAllowed, 0, 0, kKept, "[\"setid\"]",
     "What cloche apply --keep may keep of a changed file: its set-id bits, the attributes that the guest gave it"},
    {Key::kEnvPass,
     "env.pass",
     kEnvNames,
     Rule::kPatterns,
     0,
     0,
     {},
     "[\"LANG\", \"LC_*\"]",
     "Environment variables passed from the caller: names, or PREFIX_*"},
    {Key::kEnvSet,
     "env.set",
     kEnvMap,
     Rule::kNone,
     0,
     0,
     {},
     "{ MODE = \"test\" }",
     "Environment variables set to these values; wins over env.pass"},
    {Key::kNetMode, "net.mode", kWord, Rule::kMost, 0, 0, kNets, "\"none\"",
     "Network of the cell: none but what the other keys grant, or the host's"},
    {Key::kNetLoopback,
     "net.loopback",
     kFlag,
     Rule::kMost,
     0,
     0,
     {},
     "true",
     "Whether the cell has a loopback of its own; with net.allow it has one in any case"},
    {Key::kNetAllow,
     "net.allow",
     kNetGrants,
     Rule::kNetRules,
     0,
     0,
     {},
     "[\"api.example.org:443\", \"*.pypi.example:443\", \"10.1.2.0/24:5432\"]",
     "Hosts the guest may reach, through a gateway: names, *.names, addresses and ranges, each with its ports"},
    {Key::kNetDeny,
     "net.deny",
     kNetRules,
     Rule::kNone,
     0,
     0,
     {},
     "[\"internal.example.org:443\"]",
     "Hosts it may not reach; wins over net.allow"},
    {Key::kNetLimitsBytesIn,
     "net.limits.bytes_in",
     kBytes,
     Rule::kMost,
     1,
     16 * kTebi,
     {},
     "\"100M\"",
     "Bytes that may come to the guest through the gateway, in the whole run"},
    {Key::kNetLimitsBytesOut,
     "net.limits.bytes_out",
     kBytes,
     Rule::kMost,
     1,
     16 * kTebi,
     {},
     "\"10M\"",
     "Bytes that it may send"},
    {Key::kNetLimitsConnections,
     "net.limits.connections",
     kCount,
     Rule::kMost,
     1,
     100'000'000,
     {},
     "1000",
     "Connections that it may make, in the whole run"},
    {Key::kNetLimitsRate,
     "net.limits.rate",
     kBytes,
     Rule::kMost,
     kKibi,
     kTebi,
     {},
     "\"1M\"",
     "Bytes a second, both ways together; what is more waits"},
    {Key::kSocketsAllow,
     "sockets.allow",
     kSocketGrants,
     Rule::kSockets,
     0,
     0,
     {},
     "[\"/run/hero/*/rpc.sock\"]",
     "Unix sockets of the host the guest may connect to, found when the run starts; they appear at the same path"},
    {Key::kSocketsRules,
     "sockets.rules",
     kSocketRules,
     Rule::kNone,
     0,
     0,
     {},
     "[{ path = \"/run/hero/*/rpc.sock\", methods = [\"flow.read\", \"log.*\"], context = { tenant = \"a\" } }]",
     "JSON-RPC methods that may be called on them; without a rule bytes pass as they are"},
}};

constexpr bool in_enum_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].key) != i) return false;
  }
  return true;
}
static_assert(in_enum_order(), "spec_of indexes the table by the enum");

std::string_view last_part(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

}  // namespace

std::span<const KeySpec> key_table() { return kTable; }

const KeySpec& spec_of(Key key) { return kTable[static_cast<std::size_t>(key)]; }

const KeySpec* find_key(std::string_view name) {
  for (const KeySpec& spec : kTable) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

const KeySpec& nearest_key(std::string_view name) {
  const KeySpec* best = kTable.data();
  std::size_t best_distance = SIZE_MAX;
  for (const KeySpec& spec : kTable) {
    // A key in the wrong section is a commoner mistake than six wrong letters.
    const std::size_t whole = edit_distance(name, spec.name);
    const std::size_t moved = edit_distance(last_part(name), last_part(spec.name)) + 1;
    const std::size_t distance = whole < moved ? whole : moved;
    if (distance < best_distance) {
      best_distance = distance;
      best = &spec;
    }
  }
  return *best;
}

std::vector<std::string_view> section_names() {
  std::vector<std::string_view> out;
  for (const KeySpec& spec : kTable) {
    const std::size_t dot = spec.name.find('.');
    if (dot == std::string_view::npos) continue;
    const std::string_view name = spec.name.substr(0, dot);
    if (std::ranges::find(out, name) == out.end()) out.push_back(name);
  }
  return out;
}

bool is_section(std::string_view name) {
  for (const KeySpec& spec : kTable) {
    if (spec.name.size() > name.size() && spec.name.starts_with(name) && spec.name[name.size()] == '.') return true;
  }
  return false;
}

bool is_scalar(KeyType type) {
  switch (type) {
    case kWordList:
    case kPathList:
    case kPlaceList:
    case kEnvNames:
    case kEnvMap:
    case kNetRules:
    case kNetGrants:
    case kSocketGrants:
    case kSecrets:
    case kSocketRules:
    case kNetBounds:
    case kSources:
      return false;
    default:
      return true;
  }
}

bool is_settable(const KeySpec& spec) { return is_scalar(spec.type) && spec.type != kVersion && spec.type != kParent; }

namespace {

constexpr char in_a_variable(char c) {
  return c == '.' ? '_' : (c >= 'a' && c <= 'z') ? static_cast<char>(c - 'a' + 'A') : c;
}

}  // namespace

std::string environment_name(const KeySpec& spec) {
  std::string out(kVariables);
  for (const char c : spec.name) out += in_a_variable(c);
  return out;
}

bool is_environment_name(std::string_view name, const KeySpec& spec) {
  if (!name.starts_with(kVariables)) return false;
  name.remove_prefix(kVariables.size());
  return std::ranges::equal(name, spec.name, {}, {}, in_a_variable);
}

}  // namespace cloche
