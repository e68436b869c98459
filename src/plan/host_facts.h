// HostFacts: what this kernel, this user and this machine can do. Probed by host/, a plain value everywhere else, so
// that tests can plan for hosts that nobody has.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cloche {

enum class Controller : std::uint8_t { kPids, kMemory, kCpu, kCpuAcct };
inline constexpr std::array kControllers = {Controller::kPids, Controller::kMemory, Controller::kCpu,
                                            Controller::kCpuAcct};
std::string_view to_string(Controller);  // "pids", "memory", "cpu", "cpuacct"

// Where a run may make its leaf. An absent directory means: not writable or not there.
struct CgroupFacts {
  enum class Version : std::uint8_t { kNone, kV1, kV2 };
  Version version = Version::kNone;
  // Per controller a directory that was delegated to us, or "DIR/cloche" where DIR is shared with others and the leaf
  // becomes DIR/cloche-ID. v2: the same under pids, memory and cpu, nothing under cpuacct.
  std::array<std::optional<std::string>, kControllers.size()> parent;
  bool v2_needs_self_move = false;  // the engine must first move itself into a leaf beside the cells
  std::string why_not;              // for people, when something is missing
  bool operator==(const CgroupFacts&) const = default;

  const std::optional<std::string>& at(Controller c) const { return parent[static_cast<std::size_t>(c)]; }
};

// Settings that user_namespaces_why names when they are the cause; obstacle() finds its hint by them.
inline constexpr std::string_view kSettingUsernsClone = "kernel.unprivileged_userns_clone";
inline constexpr std::string_view kSettingMaxUserns = "user.max_user_namespaces";
inline constexpr std::string_view kSettingAppArmor = "kernel.apparmor_restrict_unprivileged_userns";
inline constexpr std::string_view kSettingOuterFilter = "system-call filter";  // put on us by a container engine

// "5.10.0-21-amd64" is at least 5.10; what does not begin with two numbers is at least nothing.
bool kernel_at_least(std::string_view release, unsigned major, unsigned minor);

// What is known of a directory that is to be a workspace.
struct WorkspaceFacts {
  std::string path;
  std::string no_overlay;    // why overlayfs cannot serve it, or empty
  std::string unchangeable;  // what the guest could not change in an overlay, though it is its user's own, or empty
  std::uint64_t bytes = 0;   // of its files, where it would be copied
  std::uint64_t entries = 0;
  bool maps_owners = true;  // or its files are read as everybody may read them, and never written
  std::string closed;       // what lies in it and cannot be read so, where that counts
  bool operator==(const WorkspaceFacts&) const = default;
};

// A place where this user's runs are recorded, with the key that seals what is applied: no guest sees it.
struct OwnPlace {
  std::string path;     // without symbolic links
  std::string named;    // as it was chosen
  bool there = false;   // a directory lies there
  bool chosen = false;  // by this run, which makes it where it is missing; else another run might use it
  bool operator==(const OwnPlace&) const = default;
};

// What a pattern of sockets.allow finds.
struct SocketFacts {
  std::string pattern;             // absolute
  std::vector<std::string> found;  // sorted; sockets only, and no part of the path is a symbolic link
  bool too_many = false;           // not all of them are here
  bool operator==(const SocketFacts&) const = default;
};
inline constexpr std::size_t kMostSockets = 64;  // of a run

struct HostFacts {
  std::string kernel = "unknown";  // uname -r
  std::uint32_t arch = 0;          // AUDIT_ARCH_*
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t supplementary_groups = 0;  // how many the engine carries
  bool is_root = false;                    // effective uid 0 with CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID, CAP_SETPCAP
  bool may_trace = true;                   // an ordinary user may look into its own cells; root needs CAP_SYS_PTRACE
  bool set_uid_program = false;            // real and effective ids differ, or AT_SECURE
  bool in_container = false;
  unsigned cpus = 1;                // this process may use
  std::uint64_t memory = 0;         // bytes of the machine
  std::uint64_t open_files = 1024;  // how many the engine may have open (RLIMIT_NOFILE, soft)

  bool user_namespaces = false;     // a test clone worked
  std::string user_namespaces_why;  // errno and the likely setting when it did not
  bool mount_api = false;           // open_tree, fsopen, move_mount, mount_setattr
  bool proc_mountable = false;      // a fresh procfs with subset=pid could be mounted in a new namespace
  int landlock_abi = 0;             // 0: none
  bool seccomp_filter = false;
  bool seccomp_notify = false;  // a filter can tell us what it stops
  bool pidfd = false;
  bool clone3 = false;
  bool close_range = false;
  bool cgroup_kill = false;          // cgroup.kill exists (v2)
  bool nproc_per_namespace = false;  // RLIMIT_NPROC counts per user namespace (5.14)
  std::uint64_t user_tasks = 0;      // tasks this uid has now; counted only for tier 0 as an ordinary user
  // What /proc holds besides processes, sorted; a directory ends in "/". Read only for bwrap, which covers them.
  std::vector<std::string> proc_entries;
  std::uint64_t uid_span = 0;        // how many host uids can be mapped (size of /proc/self/uid_map)
  std::optional<std::string> bwrap;  // path
  std::optional<std::string> bwrap_version;
  std::optional<std::string> init;  // path of cloche-init
  bool usr_merged = true;           // /bin, /lib, ... are symlinks into /usr
  CgroupFacts cgroup;
  bool disk_images = true;  // root can make and mount a file system in a file; asked where a weaker limit would do
  std::vector<WorkspaceFacts> workspaces;  // of the policy's; looked at for each run
  std::vector<SocketFacts> sockets;        // the same
  std::vector<OwnPlace> own_places;        // looked for where something of the host is granted
  bool operator==(const HostFacts&) const = default;
};

}  // namespace cloche
