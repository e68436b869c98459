// Report: what a run did and what held it. A value; written as JSON (json.h) or for people (render.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "report/guarantee.h"
#include "report/network.h"

namespace cloche {

enum class OutcomeKind : std::uint8_t {
  kExited,    // the guest ended by itself; code says how
  kSignaled,  // the guest died of a signal that we did not send
  kWall,      // the wall clock ran out
  kCpu,
  kOom,
  kPids,  // a fork was refused by the limit and the guest failed of it
  kDisk,
  kOutput,     // more output than allowed
  kNetwork,    // more traffic than allowed
  kDenied,     // the system-call filter killed it
  kCancelled,  // the caller asked
  kRefused,    // never started: policy, ceiling or host
  kFailed,     // never started or lost: our fault or the kernel's
};
inline constexpr std::size_t kOutcomeKindCount = 13;
std::string_view to_string(OutcomeKind);  // "exited", "signaled", "wall", "cpu", "oom", ...
std::optional<OutcomeKind> outcome_kind_from(std::string_view name);

struct Outcome {
  OutcomeKind kind = OutcomeKind::kFailed;
  int code = 0;                    // exit code of the guest, where it has one
  int signal = 0;                  // the signal that ended it, 0 if none
  std::string message;             // one sentence
  std::string step;                // for refused and failed: where
  std::string hint;                // for refused and failed: what to do
  std::string network_limit = {};  // for network: one of kNetworkLimits
  bool operator==(const Outcome&) const = default;
};

// The exit code of `cloche run`, as shells know it:
//   exited      the guest's own, 0 to 255
//   signaled    128 + signal
//   wall        124, as timeout(1) has it
//   failed      125: cloche or the kernel failed
//   refused     126: nothing was started
//   cancelled   130, as after an interrupt
//   cpu, oom, pids, disk, output, network, denied   137, as after a SIGKILL: a limit or the filter ended it
int exit_code(const Outcome&);

enum class Standing : std::uint8_t { kHeld, kWeakened, kAbsent };
inline constexpr std::size_t kStandingCount = 3;
std::string_view to_string(Standing);  // "held", "weakened", "absent"
std::optional<Standing> standing_from(std::string_view name);

struct ReceiptLine {
  Guarantee guarantee{};
  Standing standing = Standing::kAbsent;
  std::string mechanism;  // "cgroup v1 pids", "pid namespace", "seccomp filter, 142 instructions"
  std::string evidence;   // what was read back: "pids.max = 64", "CapBnd 0000000000000000"
  bool operator==(const ReceiptLine&) const = default;
};

struct Usage {
  Millis wall{0};
  std::chrono::microseconds cpu_user{0};
  std::chrono::microseconds cpu_system{0};
  Bytes memory_peak{0};         // 0: not measured
  std::uint64_t pids_peak = 0;  // 0: not measured
  std::uint64_t forks_refused = 0;
  std::uint64_t oom_kills = 0;
  std::uint64_t stdout_bytes = 0;
  std::uint64_t stderr_bytes = 0;
  bool operator==(const Usage&) const = default;
};

struct Denial {
  std::string what;          // "read", "write", "exec", "connect", "socket", "syscall", "signal", "limit"
  std::string detail;        // path, address, call or key of the policy
  std::uint64_t count = 0;   // 0: not seen to be tried, but named by a guest that failed
  std::string program = {};  // that asked, if it is known
  std::string allow = {};    // the line of a policy that would have let it through
  std::string never = {};    // or why none does
  bool operator==(const Denial&) const = default;
};

// Why nothing allows a change of owners. Programs that copy files try it and do without.
inline constexpr std::string_view kNoOwners = "owners cannot be changed: a cell knows one user and one group";

// Why a name does not get from one grant to another. Programs that move files copy them then.
inline constexpr std::string_view kApart =
    "each grant is a mount of its own, and nothing is renamed or linked from one mount to another: copy it";

// What is missing in a cell by design.
inline constexpr std::string_view kOwnProc =
    "a cell's /proc shows its own processes and nothing of the machine, and no policy grants more of it";

// A socket that the C library asks for at every turn, and does without.
inline constexpr std::string_view kNetlink = "AF_NETLINK, raw";

// What programs say that failed of a file without naming it; empty: nothing that is known.
constexpr std::string_view words_about(std::string_view path) {
  if (path == "/proc/meminfo") return "total memory";  // ps
  if (path == "/proc/uptime") return "system uptime";  // uptime
  if (path == kNetlink) return "etlink";               // ip
  return {};
}

// Files by which the C library finds addresses. They are of no use without a network.
constexpr bool is_of_resolver(std::string_view path) {
  return path == "/etc/resolv.conf" || path == "/etc/hosts" || path == "/etc/host.conf" || path == "/etc/gai.conf" ||
         path.starts_with("/run/systemd/resolve/");
}

struct Stream {
  std::string tail;         // at most the ring's size
  std::uint64_t total = 0;  // bytes the guest wrote
  bool truncated = false;   // the tail is not all of it
  bool operator==(const Stream&) const = default;
};

// A file that the guest left and the caller asked for, kept by its content.
struct Artifact {
  std::string path;  // in the cell
  std::uint64_t size = 0;
  std::string sha256;  // in hexadecimal
  std::string type;    // "image/png"
  bool operator==(const Artifact&) const = default;
};

// What the guest proposes to change in a workspace; `cloche diff` shows it.
struct WorkspaceChanges {
  std::string path;  // of the host
  std::string mode;  // "overlay", "copy"
  std::uint64_t added = 0;
  std::uint64_t modified = 0;
  std::uint64_t deleted = 0;
  std::string problem;  // why nothing could be kept, or empty
  bool operator==(const WorkspaceChanges&) const = default;
};

// The one step that is not part of the row: from the exec to the guest's first byte, beside "guest".
inline constexpr const char* kFirstOutput = "first-output";
struct TimingStep {
  std::string name;
  std::chrono::microseconds took{0};
  bool operator==(const TimingStep&) const = default;
};

struct Report {
  std::string id;
  Outcome outcome;
  std::string tier;
  std::string backend;
  std::string policy;
  std::string observed;  // how much was watched: "off", "calls", "files" or "all"; empty where nothing ran
  std::vector<std::string> argv;
  std::vector<ReceiptLine> receipt;
  std::vector<std::string> weakenings;  // one sentence each
  std::vector<std::string> lifecycle;   // the K3 steps that happened, in order
  Usage usage;
  std::vector<Denial> denials;
  Stream out;
  Stream err;
  std::vector<Artifact> outputs;
  std::vector<WorkspaceChanges> workspaces;
  std::vector<TimingStep> timing;
  std::optional<NetworkUse> network;  // of runs with a gateway
  bool operator==(const Report&) const = default;
};

// Whoever was ended by a limit failed of that.
bool failed_by_itself(const Report& report);

}  // namespace cloche
