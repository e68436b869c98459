#include <sys/resource.h>

#include <fmt/format.h>

#include "plan/plan.h"

namespace cloche {
namespace {

std::string_view rlimit_name(std::uint64_t resource) {
  switch (resource) {
    case RLIMIT_CPU:
      return "cpu seconds";
    case RLIMIT_FSIZE:
      return "file size";
    case RLIMIT_DATA:
      return "data";
    case RLIMIT_CORE:
      return "core size";
    case RLIMIT_NPROC:
      return "processes";
    case RLIMIT_NOFILE:
      return "open files";
    case RLIMIT_MEMLOCK:
      return "locked memory";
    case RLIMIT_AS:
      return "address space";
    case RLIMIT_SIGPENDING:
      return "pending signals";
    case RLIMIT_MSGQUEUE:
      return "message queues";
    case RLIMIT_NICE:
      return "nice";
    case RLIMIT_RTPRIO:
      return "real-time priority";
    default:
      return "resource";
  }
}

std::string flags_text(std::uint64_t flags) {
  std::string out;
  if ((flags & wire::kReadOnly) != 0) out += ", read-only";
  if ((flags & wire::kNoExec) != 0) out += ", no exec";
  if ((flags & wire::kOptional) != 0) out += ", if it exists";
  return out;
}

// As numbered by egress::ListenerKind.
std::string_view listener_text(std::uint64_t kind) {
  switch (kind) {
    case 1:
      return "listener";
    case 2:
      return "proxy";
    case 3:
      return "nameserver (UDP)";
    case 4:
      return "nameserver (TCP)";
    default:
      return "socket";
  }
}

}  // namespace

std::string_view to_string(Backend backend) {
  switch (backend) {
    case Backend::kNone:
      return "none";
    case Backend::kProcess:
    case Backend::kNamespace:
      return "native";
    case Backend::kBwrap:
      return "bwrap";
  }
  return "native";
}

std::string describe(const Step& step) {
  using wire::StepKind;
  switch (step.kind) {
    case StepKind::kCgroup:
      return "enter the run's own cgroups";
    case StepKind::kCgroupNamespace:
      return "cgroup namespace whose root is the run's own leaf";
    case StepKind::kHostname:
      return fmt::format("host name '{}'", step.a);
    case StepKind::kSysctl:
      return fmt::format("{} at most {}", step.a.substr(step.a.rfind('/') + 1), step.b);
    case StepKind::kNetwork:
      return "network namespace of its own";
    case StepKind::kLoopbackUp:
      return "the cell's own loopback up";
    case StepKind::kLocalRoutes:
      return "every address leads to the cell itself, where the gateway listens";
    case StepKind::kListen:
      return fmt::format("{} of the gateway on port {}", listener_text(step.x), step.y);
    case StepKind::kPackets:
      return "attempts at other ports are shown to the gateway";
    case StepKind::kListenUnix:
      return fmt::format("socket of the gateway on /{}", step.a);
    case StepKind::kNewRoot:
      return fmt::format("new root: tmpfs of {} bytes, {} inodes", step.x, step.y);
    case StepKind::kScratch:
      return fmt::format("scratch: {} of {} bytes, {} inodes", step.z != 0 ? "an ext4 of its own on the disk" : "tmpfs",
                         step.x, step.y);
    case StepKind::kDir:
      return fmt::format("directory /{}", step.a);
    case StepKind::kSymlink:
      return fmt::format("link /{} -> {}", step.a, step.b);
    case StepKind::kFile:
      return fmt::format("file /{} of {} bytes", step.a, step.data.size());
    case StepKind::kBind:
      return fmt::format("bind {}{}", step.b, flags_text(step.x));
    case StepKind::kBindFd:
      return fmt::format("bind {} with its owner mapped to the guest{}", step.b, flags_text(step.x));
    case StepKind::kDiskScratch:
      return fmt::format("changes to workspaces go to {}", step.b);
    case StepKind::kScratchDir:
      return fmt::format("scratch on /{}{}", step.a, flags_text(step.x));
    case StepKind::kOverlay:
      return fmt::format("overlay on /{}: the tree below stays as it is, changes go to the {}{}", step.a,
                         step.y != 0 ? "disk" : "scratch", flags_text(step.x));
    case StepKind::kCopyTree:
      return fmt::format("copy of /{} {}{}", step.a, step.y != 0 ? "on the disk" : "in the scratch",
                         flags_text(step.x));
    case StepKind::kPut:
      return fmt::format("copy {} to /{}", step.b, step.a);
    case StepKind::kHide:
      return fmt::format("hide {}: an empty directory over it, read-only", step.b);
    case StepKind::kDevice:
      return fmt::format("device /{} ({}:{})", step.a, step.x, step.y);
    case StepKind::kProc:
      return "fresh /proc, processes only, read-only";
    case StepKind::kPts:
      return "terminals of its own on /dev/pts";
    case StepKind::kPivot:
      return "pivot to the new root, drop the old one";
    case StepKind::kRootReadOnly:
      return "root read-only";
    case StepKind::kIdentity:
      return step.z != 0 ? "drop to a host uid of its own, no groups" : fmt::format("uid {}, gid {}", step.x, step.y);
    case StepKind::kKeyring:
      return "fresh session keyring";
    case StepKind::kRlimit:
      return fmt::format("limit on {}: {}", rlimit_name(step.x), step.y);
    case StepKind::kAffinity:
      return fmt::format("at most {} cpu(s), by affinity", step.x);
    case StepKind::kParentDeath:
      return "die with the engine";
    case StepKind::kDropCapabilities:
      return "all capability sets empty, securebits locked";
    case StepKind::kSubreaper:
      return "orphans come to init";
    case StepKind::kWorkDir:
      return fmt::format("work directory {}", step.a);
    case StepKind::kGuestSession:
      return step.x != 0 ? "own session with a terminal of its own" : "own session, no terminal";
    case StepKind::kNoNewPrivs:
      return "no_new_privs";
    case StepKind::kLandlock:
      return fmt::format("Landlock: files {:#x}, network {:#x}, scope {:#x}", step.x, step.y, step.z);
    case StepKind::kLandlockRule:
      return fmt::format("Landlock allows {:#x} below {}", step.x, step.a);
    case StepKind::kLandlockRestrict:
      return "Landlock in force";
    case StepKind::kFilter:
      return fmt::format("system-call filter, {} instructions", step.x);
    case StepKind::kExec:
      return fmt::format("exec {} in {}", step.a, step.b);
  }
  return "?";
}

}  // namespace cloche
