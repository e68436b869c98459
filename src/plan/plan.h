// Plan: a pure function of policy, request and host. A list of typed steps, each with the guarantee that it serves.
// `cloche plan` prints it; tests assert on it without running anything; launch/ executes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "filter/filter.h"
#include "plan/host_facts.h"
#include "plan/request.h"
#include "policy/policy.h"
#include "report/report.h"
#include "wire/wire.h"

namespace cloche {

enum class Backend : std::uint8_t { kNone, kProcess, kNamespace, kBwrap };
std::string_view to_string(Backend);  // "none", "native", "native", "bwrap"

struct Step {
  wire::StepKind kind{};
  Guarantee serves{};
  std::string a{};
  std::string b{};
  std::uint64_t x = 0;
  std::uint64_t y = 0;
  std::uint64_t z = 0;
  std::string data{};
  bool operator==(const Step&) const = default;
};
std::string describe(const Step&);  // "bind /usr on usr, read-only"

// A value written into a file of the run's own cgroup leaf before the guest's first instruction.
struct CgroupSetting {
  Controller controller{};
  std::string file;  // "pids.max"
  std::string value;
  Guarantee serves{};
  bool required = true;
  bool operator==(const CgroupSetting&) const = default;
};

// A host path that the engine (root) clones and maps to the guest's uid, because the guest's own uid could not use it.
struct HostMount {
  std::string path;
  bool writable = false;
  bool operator==(const HostMount&) const = default;
};

// What a guest may do with a path and what lies below it, in Landlock's words (landlock.h).
struct Reach {
  std::string path;
  std::uint64_t rights = 0;
  bool operator==(const Reach&) const = default;
};

// A directory of the host under something that takes the guest's changes.
struct Workspace {
  std::string path;                  // of the host and in the cell
  std::string scratch;               // name of what takes the changes, in the scratch
  bool copied = false;               // a copy lies there; else overlayfs has its upper directory there
  std::vector<std::string> covered;  // paths of grants inside, relative to it: not part of it
  std::string why{};                 // a copy, or not all of it can be changed; else empty
  bool maps_owners = true;           // its owner becomes the guest; else the guest has what everybody may read
  bool operator==(const Workspace&) const = default;
};

// A socket of the host that the guest can reach through the gateway.
struct PlannedSocket {
  std::string path;  // of the host and in the cell
  std::optional<SocketRule> rule;
  Lasts lasts;
  bool operator==(const PlannedSocket&) const = default;
};

// The way out. No value of a secret is in here: a plan is printed.
struct PlannedGateway {
  std::vector<NetGrant> allow;
  std::vector<std::string> deny;
  NetLimits limits;
  std::vector<SecretGrant> secrets;
  std::vector<PlannedSocket> sockets;
  std::vector<std::uint16_t> ports;  // that the gateway takes connections on, whatever their address
  std::uint16_t proxy_port = 0;      // 0: no network, only sockets
  std::string bundle;  // file in the cell that gets the certificate authority, or empty; data of its kFile
  bool operator==(const PlannedGateway&) const = default;
};

struct Plan {
  Tier tier{};
  Backend backend{};
  std::string policy_name;
  std::vector<std::string> argv;                         // as the guest sees it
  std::vector<std::pair<std::string, std::string>> env;  // as the guest sees it, sorted
  std::string program;                                   // path handed to exec
  std::string cwd;
  std::uint64_t namespaces = 0;  // CLONE_NEW* for clone3
  std::uint32_t inside_uid = 1000;
  std::uint32_t inside_gid = 1000;
  bool own_host_uid = false;  // root engine: the guest gets a host uid of its own
  std::vector<Step> steps;
  std::vector<CgroupSetting> cgroup;
  std::vector<std::string> grants;     // host paths; none may lead through a symbolic link
  std::vector<HostMount> host_mounts;  // index = y of kBindFd
  std::vector<std::string> hidden;     // directories of the host inside of them that look empty to the guest
  std::vector<Workspace> workspaces;
  std::vector<Kept> keep;    // what a proposal may keep of a file beside content and mode
  std::string own_disk;      // a directory of the host: the scratch is a file system in a file there; empty: in memory
  std::string disk_scratch;  // a directory of the host for what takes their changes; empty: the scratch does
  bool keeps_scratch = false;  // the engine gets the scratch, to read it when the guest is gone
  Bytes scratch_bytes{0};      // limits.disk, and what is copied in
  std::uint64_t scratch_inodes = 0;
  std::vector<std::string> bwrap_args;  // backend bwrap only; "@N" stands for the Nth data file
  std::vector<std::string> bwrap_data;  // contents of those; the first is cloche-init itself (empty here)
  std::vector<ReceiptLine> guarantees;  // evidence is empty until a run reads it back
  std::vector<std::string> weakenings;
  Limits limits;
  std::optional<Millis> wall;  // after N2
  NetMode net{};
  bool loopback = false;  // the cell has one: asked for, or what the gateway is reached by
  std::optional<PlannedGateway> gateway;
  bool has_network() const { return gateway && gateway->proxy_port != 0; }  // through the gateway
  bool tty = false;
  bool scratch_on_host = false;  // tier 0: a work directory on the host, removed afterwards
  std::vector<Reach> reach;      // every path of the view
  filter::Options filter;        // what the filter was made of
  filter::Watch watch{};         // what it tells us
  // Directories of the host that the guest writes to: no file system holds the disk limit there, the supervisor does.
  std::vector<std::string> watched;
  bool operator==(const Plan&) const = default;
};

// Where a guest of this policy starts: its cwd or, where that is left as it is, the first workspace.
std::string starting_place(const Policy& policy, const std::string& home);

// What the plan's tier and backend cannot give of a policy is refused, not done differently. Of the plan these count
// and the guest's identity.
Status fits_backend(const Plan& plan, const Policy& policy);

// Fails with kRefused when the host cannot give what the policy asks for; the hint says what to install or change.
Result<Plan> make_plan(const Policy& policy, const Request& request, const HostFacts& host);

}  // namespace cloche
