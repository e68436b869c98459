// What the engine and a cell's init say to each other. Shared by both, so it uses neither the C++ library nor any
// other room: init is a freestanding-style static program.
//
// The engine clones a child into its namespaces; the child execs init with one descriptor, the control socket
// (SOCK_SEQPACKET). The engine sends kSpec with the spec and the cell's descriptors; init performs the steps in order;
// the process that will become the guest sends kReady and waits; the engine reads the cell back from
// the kernel, then sends kGo with a second spec, whose one step is the exec, and the guest's stdin, stdout and stderr.
// So a cell can stand ready before anybody knows what will run in it. A spec lies behind its message, or, where it is
// large, in a memfd, which is then the first of the descriptors.
#pragma once

#include <stdint.h>

namespace cloche::wire {

inline constexpr uint32_t kMagic = 0x34484c43;  // "CLH4"
inline constexpr int kControlFd = 3;
// Of what a guest-to-be sends. Nobody else has a use for MSG_DONTROUTE and MSG_CONFIRM on such a socket, so a filter
// that tells of messages can let these through before anybody listens. With MSG_NOSIGNAL.
inline constexpr int kSendFlags = 0x4 | 0x800 | 0x4000;
inline constexpr uint32_t kMaxFdsPerMessage = 64;
inline constexpr uint32_t kMostBehind = 16 * 1024;  // bytes of a spec that comes behind its message
inline constexpr uint32_t kMaxFds = 4200;           // spec, stdio, detached mounts
inline constexpr uint32_t kMaxGroups = 8;
inline constexpr uint32_t kMaxArgs = 65536;    // arguments and variables together
inline constexpr int kMaxWatched = 16384;      // directories on a janitor's list
inline constexpr int kMaxWatchedPath = 512;    // bytes of their paths, with the end
inline constexpr int kMaxWatchMessage = 8192;  // bytes of one message to a janitor; the kernel cuts what is longer
inline constexpr int kIdDigits = 16;           // of each number in what a janitor is told of a directory's identity
inline constexpr uint32_t kNoString = 0xffffffffu;

// One step. What the fields mean is said beside each kind: a and b are strings, x, y and z numbers, data a blob.
enum class StepKind : uint16_t {
  kHostname = 1,  // a: name
  kSysctl,        // a: path below /proc/sys of the host, b: value for this namespace; skipped where it cannot be set
  kNetwork,       // enter the network namespace that was begun when init started
  kLoopbackUp,
  kLocalRoutes,  // every address of both families is the cell's own: who listens on a port is reached by any of them
  kListen,       // x: egress::ListenerKind, y: port; the listening socket goes to the engine
  kPackets,      // the engine gets a socket that shows what is sent: TCP openings, and UDP but to nameservers
  kNewRoot,      // x: size in bytes, y: inodes; from here on targets are relative to this root
  kScratch,      // x: size, y: inodes, z: 0 or the engine's mount that serves instead, counted
                 // as for kPut; the one file system behind everything the cell can write
  kDiskScratch,  // b: a directory of the host that takes the changes to workspaces, y: as for kPut
  kDir,          // a: target, x: mode
  kSymlink,      // a: target, b: what it points at
  kFile,         // a: target, x: mode, data: contents
  kBind,         // a: target, b: host path, x: MountFlags
  kBindFd,       // a: target, x: MountFlags, y: index of a detached mount that the engine sent
  kScratchDir,   // a: target, b: name in the scratch, x: MountFlags, y: mode
  kOverlay,      // a: target, where a tree of the host lies already, b: name in the scratch of what covers it, x:
                 // MountFlags, y: 1 if not in the scratch but in the kDiskScratch
  kCopyTree,     // the same, but covered by a copy
  kPut,          // a: target, b: host path, y: 1 + index of a detached mount, or 0: init opens the path itself
  kHide,         // a: target, where a grant shows a directory, b: the same on the host; an empty one lies over it
  kListenUnix,   // a: target, y: index of the socket; the listening socket goes to the engine
  kDevice,       // a: target, b: host path, x: major, y: minor
  kProc,         // a: target
  kPts,          // a: target
  kPivot,        // the old root is gone after this
  kRootReadOnly,
  kCgroup,           // waits for the v1 groups that the engine makes meanwhile, enters them
  kCgroupNamespace,  // unshare, so that the leaf is the namespace's root
  kIdentity,         // x: uid, y: gid, z: 1 when leaving real root (tier 0): groups go too, capabilities stay for now
  kKeyring,
  kRlimit,            // x: resource, y: value (soft and hard)
  kParentDeath,       // after the last credential change; then checks that the parent still lives
  kDropCapabilities,  // x: 1 if the bounding set must stay, for want of privilege
  kSubreaper,         // tier 0: orphans come to init
  kWorkDir,           // tier 0: a: host directory made by the engine, becomes the root of relative targets
  // From here on the steps belong to the process that becomes the guest.
  kGuestSession,  // x: 1 if a terminal was asked for
  kAffinity,      // x: number of cpus; not for init, which would then wait for the guest to leave its cpu
  kNoNewPrivs,
  kLandlock,      // x: handled fs, y: handled net, z: scoped; rules follow
  kLandlockRule,  // a: path, x: allowed access, y: 1 if a missing path is no error, z: 1 if links are refused
  kLandlockRestrict,
  kFilter,  // data: struct sock_filter[]; y: 1 if it notifies: what it tells goes with kReady
  kExec,    // the guest-to-be says it is ready and waits for kGo, whose spec has a: file, b: cwd, argv and env
};

enum MountFlags : uint64_t {
  kReadOnly = 1,
  kNoExec = 2,
  kOptional = 4,  // a missing source is skipped
  kAllowDevices = 8,
  kNoSymlinks = 16,  // a grant: no component of the host path may be a symbolic link
};

struct Step {
  StepKind kind;
  uint16_t reserved;
  uint32_t a;  // offset of a NUL-terminated string in the string area, or kNoString
  uint32_t b;
  uint32_t data_offset;
  uint32_t data_size;
  uint64_t x;
  uint64_t y;
  uint64_t z;
};

// Header, then steps, then argv and envp as arrays of string offsets, then the string and data area.
struct SpecHeader {
  uint32_t magic;
  uint32_t total_size;
  uint32_t step_count;
  uint32_t argc;
  uint32_t envc;
  uint32_t area_offset;
  uint32_t tty;  // 1: make a pty and send the master back
  uint32_t tty_rows;
  uint32_t tty_cols;
  uint32_t stdio_count;   // kGo: of the descriptors received after the spec, this many become 0, 1, 2
  uint32_t cgroup_count;  // v1 groups to enter, by their "tasks" files, which come with kGroups
  uint32_t mount_count;   // detached mounts; those that do not fit the first message follow in kFds messages
  uint32_t leased;        // 1: init's parent is a keeper, not the engine; only the control socket tells of its death
  uint32_t hand_over;     // 1: the engine wants the scratch (kScratch)
  uint32_t parked;        // 1: nobody waits for this cell yet
  uint32_t reserved;      // steps follow, on eight bytes
};
static_assert(sizeof(SpecHeader) % alignof(Step) == 0);

// What a cell's preparation spends its time on, for the report.
enum Phase : uint32_t { kWaiting, kNames, kMounting, kLimiting, kLandlocking, kFiltering, kPhases };

enum class MessageKind : uint32_t {
  kHello = 1,  // init → engine: the exec is done, nothing of the engine's memory is shared any more
  kSpec,       // engine → init, with a spec and descriptors: detached mounts
  kFds,        // engine → init: more detached mounts
  kGroups,     // engine → init, with descriptors: v1 groups
  kGo,         // engine → guest-to-be, with a spec and descriptors: stdio
  kTerminate,  // engine → init: number is the signal for the whole tree
  kBuilt,      // init → engine: mounts and namespaces are final
  kReady,      // guest-to-be → engine, credentials attached, with what the filter notifies, if it does
  kTty,        // init → engine, with the pty's master
  kFailed,     // → engine: step index (of the spec) and errno
  kStarted,    // init → engine: the exec happened; only of a guest that lives on, kExited tells it too
  kExited,     // init → engine: wait status and usage of the main process
  kScratchIs,  // init → engine, with the scratch, whose files the engine reads when the guest is gone
  kCopying,    // init → engine: a copy goes on; `amount` bytes so far
  kListener,   // init → engine, with a socket; number: egress::ListenerKind, amount: port, or index of the socket
};

// What can fail before the first step or beside them.
enum Failure : int32_t {
  kReadingSpec = -1,
  kExecOfInit = -2,
  kEntryOfCgroup = -3,
  kNamespaces = -4,
  kWorkingDirectory = -5
};

// What a user namespace may have of inotify.
inline constexpr char kMostInotifyInstances[] = "/proc/sys/user/max_inotify_instances";
inline constexpr char kMostInotifyWatches[] = "/proc/sys/user/max_inotify_watches";

// Inside of what a workspace has in the scratch.
inline constexpr char kUpperName[] = "upper";
inline constexpr char kOverlayWorkName[] = "work";

struct Message {
  MessageKind kind;
  int32_t step;    // kFailed: index in the spec, or a Failure
  int32_t error;   // errno
  int32_t status;  // kExited: wait status
  int32_t number;  // kTerminate: signal
  uint32_t probe;  // kReady: ProbeBits
  uint64_t cpu_user_us;
  uint64_t cpu_system_us;
  uint64_t max_rss_kib;
  uint64_t stamp;          // CLOCK_MONOTONIC in nanoseconds; kHello: init's first instruction, else when it was sent
  uint64_t started;        // kStarted, kExited: when the exec happened
  uint64_t amount;         // kCopying: bytes; kScratchIs: when the copies were complete, in the clock of file times
  uint32_t took[kPhases];  // kReady: nanoseconds spent in each phase
};

// What the guest-to-be saw when it tried its own walls, just before kReady.
enum ProbeBits : uint32_t {
  kProbeLandlockHeld = 1,  // opening a path that only Landlock forbids gave EACCES
  kProbeFilterHeld = 2,    // a forbidden system call gave the filter's errno
  kProbeKeyringFresh = 4,
  kScratchFull = 8,    // kExited: nothing more could be written when the guest ended
  kAlone = 16,         // kExited: no process is left in the cell but init
  kInodesUsedUp = 32,  // kExited, with kScratchFull: it was names that there was no room for
};

}  // namespace cloche::wire
