// Credentials, limits and the walls that the guest-to-be puts around itself. The order matters and is the plan's; what
// forces it is said at each step.
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "init/cell.h"
#include "init/kernel.h"

namespace cloche::init {
namespace {

int status_of(long result) { return result == 0 ? 0 : errno; }

// A container may have /proc/sys read-only or none of it; the counters are then the host's own, as they were. Any other
// error is that of a host in need, and no leave to go on without the limit.
int unless_forbidden(int error) {
  const bool forbidden = error == ENOENT || error == EACCES || error == EPERM || error == EROFS;
  return forbidden ? 0 : error;
}

int set_sysctl(const char* path, const char* value) {
  int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return unless_forbidden(errno);
  int error = write(fd, value, strlen(value)) >= 0 ? 0 : errno;
  close(fd);
  return unless_forbidden(error);
}

int bring_loopback_up() {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  struct ifreq request;
  memset(&request, 0, sizeof request);
  strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  int error = status_of(ioctl(fd, SIOCSIFFLAGS, &request));
  close(fd);
  return error;
}

// Leaving real root empties the effective set; the later steps still need it, until kDropCapabilities.
int regain_effective() {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) != 0) return errno;
  for (auto& half : data) half.effective = half.permitted;
  return status_of(syscall(SYS_capset, &header, data));
}

// Raw calls: musl would try to signal other threads, and there are none.
int change_identity(long uid, long gid, bool leaving_root) {
  if (leaving_root) {
    if (syscall(SYS_setgroups, 0, nullptr) != 0) return errno;
    if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0) return errno;
  }
  if (syscall(SYS_setresgid, gid, gid, gid) != 0) return errno;
  if (syscall(SYS_setresuid, uid, uid, uid) != 0) return errno;
  return leaving_root ? regain_effective() : 0;
}

// Set after the last change of credentials, because each change clears it. The parent is outside this pid namespace,
// so getppid() is of no use: the control socket tells whether it still lives.
int die_with_parent(bool leased) {
  if (!leased && prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
  struct pollfd control = {wire::kControlFd, 0, 0};
  if (poll(&control, 1, 0) < 0) return errno;
  return (control.revents & (POLLHUP | POLLERR)) != 0 ? EPIPE : 0;
}

// Bounding set and securebits take a capability to change; the other four sets never do.
int drop_bounding() {
  for (int cap = 0;; ++cap) {
    if (prctl(PR_CAPBSET_DROP, cap) != 0) {
      if (errno == EINVAL && cap > 0) break;  // past the last one this kernel knows
      return errno;
    }
  }
  constexpr unsigned long kAllLocked = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                       SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                       SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  return status_of(prctl(PR_SET_SECUREBITS, kAllLocked));
}

int drop_capabilities(bool keep_bounding) {
  if (!keep_bounding) {
    if (int error = drop_bounding(); error != 0) return error;
  }
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return errno;
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2] = {};
  return status_of(syscall(SYS_capset, &header, none));
}

int set_affinity(const wire::Step& step) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return errno;
  uint64_t total = static_cast<uint64_t>(CPU_COUNT(&allowed));
  if (step.x >= total) return 0;
  // The cpu we are on comes first: leaving it would wait for the scheduler, and where the kernel happened to put us is
  // as good a spread of the cells as any.
  unsigned current = 0;
  syscall(SYS_getcpu, &current, nullptr, nullptr);
  cpu_set_t chosen;
  CPU_ZERO(&chosen);
  uint64_t left = step.x;
  for (unsigned i = 0; i < CPU_SETSIZE && left > 0; ++i) {
    unsigned cpu = (current + i) % CPU_SETSIZE;
    if (!CPU_ISSET(cpu, &allowed)) continue;
    CPU_SET(cpu, &chosen);
    --left;
  }
  return status_of(sched_setaffinity(0, sizeof chosen, &chosen));
}

int set_rlimit(const wire::Step& step) {
  // A service or a container may have left a lower hard limit, which nobody here could raise: the stricter one stays,
  // and the read-back judges it.
  struct rlimit limit;
  if (getrlimit(static_cast<int>(step.x), &limit) != 0) return errno;
  limit.rlim_max = step.y < limit.rlim_max ? step.y : limit.rlim_max;
  limit.rlim_cur = limit.rlim_max;
  return status_of(setrlimit(static_cast<int>(step.x), &limit));
}

int start_session(Cell& cell) {
  // Without this a child of init's own session could reach a terminal that init inherited.
  if (setsid() < 0) return errno;
  if (cell.tty_slave >= 0) {
    if (ioctl(cell.tty_slave, TIOCSCTTY, 0) != 0) return errno;
    for (int fd = 0; fd < 3; ++fd) {
      if (dup2(cell.tty_slave, fd) < 0) return errno;
    }
  }
  const uint64_t none = 0;
  return status_of(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof none));
}

int begin_landlock(Cell& cell, const wire::Step& step) {
  const LandlockAttr attr{step.x, step.y, step.z};
  // Older kernels know a shorter structure and refuse a longer one even if the rest is zero only when it is not.
  size_t size = step.z != 0 ? sizeof attr : step.y != 0 ? 16 : 8;
  cell.landlock_fd = static_cast<int>(syscall(kSysLandlockCreate, &attr, size, 0));
  return cell.landlock_fd < 0 ? errno : 0;
}

int add_landlock_rule(Cell& cell, const wire::Step& step) {
  // z: a grant, which must not be decided by a link that somebody planted.
  const OpenHow how{static_cast<uint64_t>(O_PATH | O_CLOEXEC), 0, step.z != 0 ? kResolveNoSymlinks : 0};
  int fd = openat2(AT_FDCWD, cell.spec.text(step.a), how);
  if (fd < 0) return errno == ENOENT && step.y != 0 ? 0 : errno;
  // A rule on a file may carry only the rights that files have.
  constexpr uint64_t kFileRights = 0x1 | 0x2 | 0x4 | 0x4000 | 0x8000;
  struct stat st;
  if (fstat(fd, &st) != 0) {
    int error = errno;
    close(fd);
    return error;
  }
  LandlockPath rule;
  rule.allowed = S_ISDIR(st.st_mode) ? step.x : step.x & kFileRights;
  rule.parent_fd = fd;
  int error = status_of(syscall(kSysLandlockAddRule, cell.landlock_fd, 1, &rule, 0));
  close(fd);
  return error;
}

int restrict_landlock(Cell& cell, const wire::Step& step) {
  int error = status_of(syscall(kSysLandlockRestrict, cell.landlock_fd, 0));
  close(cell.landlock_fd);
  cell.landlock_fd = -1;
  // A path that everything but Landlock lets us read: its refusal is the only read-back the kernel gives.
  int fd = error == 0 ? open(cell.spec.text(step.a), O_RDONLY | O_CLOEXEC) : -1;
  if (error == 0 && fd < 0 && errno == EACCES) cell.probe |= wire::kProbeLandlockHeld;
  if (fd >= 0) close(fd);
  return error;
}

int load_filter(Cell& cell, const wire::Step& step) {
  struct sock_fprog program;
  program.len = static_cast<unsigned short>(step.data_size / sizeof(struct sock_filter));
  program.filter = const_cast<struct sock_filter*>(reinterpret_cast<const struct sock_filter*>(cell.spec.data(step)));
  if (step.y == 0) {
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) return errno;
  } else {
    // Once somebody has read a notification, only a fatal signal ends the wait for the answer: a call that is watched
    // is not interrupted where it would not be otherwise. Older kernels do without.
    constexpr unsigned kNewListener = 1u << 3;
    constexpr unsigned kWaitKillable = 1u << 5;
    cell.notifier =
        static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kNewListener | kWaitKillable, &program));
    if (cell.notifier < 0 && errno == EINVAL) {
      cell.notifier = static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kNewListener, &program));
    }
    if (cell.notifier < 0) return errno;
  }
  // unshare with no flags succeeds in every kernel; only a filter refuses it.
  if (syscall(SYS_unshare, 0) != 0 && errno == EPERM) cell.probe |= wire::kProbeFilterHeld;
  return 0;
}

}  // namespace

int run_identity_step(Cell& cell, const wire::Step& step) {
  using wire::StepKind;
  switch (step.kind) {
    case StepKind::kCgroupNamespace:
      return status_of(unshare(CLONE_NEWCGROUP));
    case StepKind::kHostname:
      return status_of(sethostname(cell.spec.text(step.a), strlen(cell.spec.text(step.a))));
    case StepKind::kSysctl:
      return set_sysctl(cell.spec.text(step.a), cell.spec.text(step.b));
    case StepKind::kNetwork:
      return enter_network();
    case StepKind::kLoopbackUp:
      return bring_loopback_up();
    case StepKind::kIdentity:
      return change_identity(static_cast<long>(step.x), static_cast<long>(step.y), step.z != 0);
    case StepKind::kKeyring: {
      constexpr long kJoinSessionKeyring = 1;
      // A kernel without keyrings has none to share.
      if (syscall(SYS_keyctl, kJoinSessionKeyring, nullptr) < 0 && errno != ENOSYS) return errno;
      cell.probe |= wire::kProbeKeyringFresh;
      return 0;
    }
    case StepKind::kRlimit:
      return set_rlimit(step);
    case StepKind::kParentDeath:
      return die_with_parent(cell.spec.header().leased != 0);
    case StepKind::kDropCapabilities:
      return drop_capabilities(step.x != 0);
    case StepKind::kSubreaper:
      return status_of(prctl(PR_SET_CHILD_SUBREAPER, 1));
    case StepKind::kWorkDir:
      cell.root_fd = open(cell.spec.text(step.a), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      return cell.root_fd < 0 ? errno : status_of(fchdir(cell.root_fd));
    default:
      return EINVAL;
  }
}

void run_dropped(char** args) {
  if (args[0] == nullptr || args[1] == nullptr) _exit(125);
  // The engine sends the spec (for the init further in) when this process is in its cgroup: what is forked before that
  // would stay outside.
  struct pollfd control = {wire::kControlFd, POLLIN, 0};
  while (poll(&control, 1, -1) < 0 && errno == EINTR) {
  }
  if ((control.revents & POLLIN) == 0) _exit(125);
  int error = 0;
  if (strcmp(args[0], "-") != 0) {
    long id = strtol(args[0], nullptr, 10) + getpid();
    error = status_of(syscall(SYS_setgroups, 0, nullptr));
    if (error == 0) error = status_of(syscall(SYS_setresgid, id, id, id));
    if (error == 0) error = status_of(syscall(SYS_setresuid, id, id, id));
  }
  if (error == 0) {
    static char* no_environment[] = {nullptr};
    execve(args[1], args + 1, no_environment);
    error = errno;
  }
  fail_step(wire::kExecOfInit, error);
}

int run_guest_step(Cell& cell, const wire::Step& step) {
  using wire::StepKind;
  switch (step.kind) {
    case StepKind::kGuestSession:
      return start_session(cell);
    case StepKind::kAffinity:
      return set_affinity(step);
    case StepKind::kNoNewPrivs:
      return status_of(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    case StepKind::kLandlock:
      return begin_landlock(cell, step);
    case StepKind::kLandlockRule:
      return add_landlock_rule(cell, step);
    case StepKind::kLandlockRestrict:
      return restrict_landlock(cell, step);
    case StepKind::kFilter:
      return load_filter(cell, step);
    default:
      return EINVAL;
  }
}

}  // namespace cloche::init
