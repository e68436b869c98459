// Policy: what a run may touch and how much. A plain value: comparable, printable, with no host in it.
// Absent means denied (law 1), so the default-constructed lists grant nothing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace cloche {

enum class Tier : std::uint8_t { kProcess = 0, kNamespace = 1, kContainer = 2, kMicroVm = 3 };
enum class BackendChoice : std::uint8_t { kAuto, kNative, kBwrap, kNone };  // kNone: development only (H8)
enum class Trust : std::uint8_t { kLow, kMedium };                          // kLow never runs below tier 1 (H9)
enum class LimitsMode : std::uint8_t { kRequire, kBestEffort };
enum class NetMode : std::uint8_t { kNone, kHost };  // kNone: nothing but what Policy grants beside it
enum class WorkspaceMode : std::uint8_t {
  kAuto,
  kOverlay,
  kCopy
};  // kAuto: overlayfs, or a copy where that cannot serve

// What takes a workspace's changes until they are kept.
enum class WorkspaceScratch : std::uint8_t { kMemory, kDisk };
// What a proposal has of a file only by its own word.
enum class Kept : std::uint8_t {
  kSetId,   // set-user-id and set-group-id bits that the file has on the host
  kXattrs,  // extended attributes and access lists that the guest gave it
};

std::string_view to_string(Tier);              // "process", "namespace", "container", "microvm"
std::string_view to_string(BackendChoice);     // "auto", "native", "bwrap", "none"
std::string_view to_string(Trust);             // "low", "medium"
std::string_view to_string(LimitsMode);        // "require", "best-effort"
std::string_view to_string(NetMode);           // "none", "host"
std::string_view to_string(WorkspaceMode);     // "auto", "overlay", "copy"
std::string_view to_string(WorkspaceScratch);  // "memory", "disk"
std::string_view to_string(Kept);              // "setid", "xattrs"

struct Limits {
  LimitsMode mode = LimitsMode::kRequire;
  std::optional<Millis> wall;      // absent: N2 decides (300 s, or none when the caller can cancel)
  Millis grace{5'000};             // between TERM and KILL
  std::optional<Millis> cpu_time;  // cpu seconds of the whole cell
  double cpus = 1.0;               // share: 1.5 is one and a half cores
  Bytes memory = mebibytes(512);
  std::uint64_t pids = 512;       // P1
  std::uint64_t files = 256;      // open descriptors per process
  Bytes output = mebibytes(8);    // stdout and stderr together
  Bytes disk = mebibytes(256);    // everything the cell can write: /tmp, /work, /home, /dev/shm
  std::uint64_t inodes = 16'384;  // files and directories in it
  bool operator==(const Limits&) const = default;
};

struct FileGrants {
  std::vector<std::string> read;   // absolute or ~/ paths; appear in the cell at the same path
  std::vector<std::string> write;  // written through to the host: the policy says so
  std::vector<std::string> exec;   // readable and executable
  bool exec_writable = false;      // may the guest execute what it wrote (W^X otherwise)
  bool operator==(const FileGrants&) const = default;
};

// Directories that the guest sees and changes as it likes, while they stay as they are: its changes are a proposal.
struct Workspaces {
  std::vector<std::string> path;  // absolute, ~/ or relative to the caller's directory; appear at the same path
  WorkspaceMode mode = WorkspaceMode::kAuto;
  WorkspaceScratch scratch = WorkspaceScratch::kMemory;
  std::vector<Kept> keep;
  bool operator==(const Workspaces&) const = default;
};

struct EnvGrants {
  std::vector<std::string> pass;           // names, or "PREFIX_*"
  std::map<std::string, std::string> set;  // exact values
  bool operator==(const EnvGrants&) const = default;
};

// What a grant of the way out can carry. Absent: as long as the run. Zero: not yet, `cloche grant` gives it.
using Lasts = std::optional<Millis>;

struct NetGrant {
  std::string rule;  // "*.example.org:443", "10.1.2.0/24:5432": proto/net_rule.h
  Lasts lasts;
  bool operator==(const NetGrant&) const = default;
};

struct NetLimits {
  std::optional<Bytes> bytes_in;             // towards the guest, in the whole run
  std::optional<Bytes> bytes_out;            // from it
  std::optional<std::uint64_t> connections;  // in the whole run
  std::optional<Bytes> rate;                 // a second, both ways together
  bool operator==(const NetLimits&) const = default;
};

// A credential that the guest uses and never holds.
struct SecretGrant {
  enum class Place : std::uint8_t { kHeader, kQuery, kBasic };
  enum class Source : std::uint8_t { kFile, kEnv, kCommand };
  std::string name;                // the guest's variable, which holds a placeholder
  std::vector<std::string> hosts;  // rules, without wildcards
  Place place{};
  std::string field;  // header's or parameter's name; empty for basic
  Source source{};
  std::string from;  // path, variable of the engine, or command
  Lasts lasts;
  bool operator==(const SecretGrant&) const = default;
};

struct SocketGrant {
  std::string path;  // absolute, or a pattern; appears in the cell at the same path
  Lasts lasts;
  bool operator==(const SocketGrant&) const = default;
};

// Calls that may be made on a granted socket; without a rule bytes pass as they are.
struct SocketRule {
  std::string path;                            // a granted path or pattern
  std::vector<std::string> methods;            // "flow.read", "log.*"
  std::map<std::string, std::string> context;  // attached to each call where the guest cannot set it
  bool operator==(const SocketRule&) const = default;
};

// Each weakening is a word in the policy, so that a search finds every exception.
enum class Weakening : std::uint8_t {
  kSupplementaryGroups,  // an ordinary user's groups cannot be dropped without a mapping helper; keep them
  kHostNetwork,          // net.mode = "host"
  kNoBackend,            // backend = "none": no containment at all, development only
};
std::string_view to_string(Weakening);  // "supplementary-groups", "host-network", "no-backend"

// What is noticed of a guest that is denied something; changes nothing for the guest.
enum class Observe : std::uint8_t {
  kOff,
  kCalls,  // denied system calls; files that it would change or execute; connections, signals
  kFiles,  // and files that it would read
  kAll,    // and whatever it looks at
};
std::string_view to_string(Observe);  // "off", "calls", "files", "all"

struct Policy {
  std::string name = "default";  // preset or file it came from; shown, never decides anything
  Tier tier = Tier::kNamespace;  // the least tier
  BackendChoice backend = BackendChoice::kAuto;
  Trust trust = Trust::kLow;
  std::string cwd = "/work";  // inside the cell
  Observe observe = Observe::kFiles;
  bool development = false;   // allows backend = "none" (H8)
  bool root_in_cell = false;  // inside uid 0 (CONTAINMENT 21); never a host privilege
  NetMode net = NetMode::kNone;
  bool loopback = false;  // the cell's own
  Limits limits;
  FileGrants files;
  Workspaces workspace;
  EnvGrants env;
  std::vector<NetGrant> net_allow;
  std::vector<std::string> net_deny;  // wins
  NetLimits net_limits;
  std::vector<SecretGrant> secrets;
  std::vector<SocketGrant> sockets;
  std::vector<SocketRule> socket_rules;
  std::vector<Weakening> weaken;
  bool operator==(const Policy&) const = default;

  bool weakens(Weakening w) const;
  bool needs_gateway() const { return !net_allow.empty() || !secrets.empty() || !sockets.empty(); }
};

}  // namespace cloche
