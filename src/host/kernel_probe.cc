#include "host/kernel_probe.h"

#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <vector>

// Numbers that older headers lack; they are the same on every architecture we build for.
#ifndef SYS_open_tree
#define SYS_open_tree 428
#define SYS_move_mount 429
#define SYS_fsopen 430
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#define SYS_clone3 435
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif

namespace cloche::host {
namespace {

constexpr unsigned kBadFlags = 0xffffffffu;

#if defined(__x86_64__)
constexpr std::uint32_t kArch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArch = AUDIT_ARCH_AARCH64;
#else
#error "cloche is written for amd64 and arm64"
#endif

template <typename... Args>
int error_of(long number, Args... args) {
  errno = 0;
  return ::syscall(number, args...) < 0 ? errno : 0;
}

bool has_mount_api() {
  // These two look at their flags before they look at privileges, so EPERM can only come from a filter around us.
  if (error_of(SYS_open_tree, -1, "", kBadFlags) != EINVAL) return false;
  if (error_of(SYS_mount_setattr, -1, "", kBadFlags, nullptr, std::size_t{0}) != EINVAL) return false;
  // These two look at privileges first: an ordinary user gets EPERM here and has the right inside its own namespace.
  return error_of(SYS_fsopen, nullptr, kBadFlags) != ENOSYS &&
         error_of(SYS_move_mount, -1, "", -1, "", kBadFlags) != ENOSYS;
}

// Whether a filter of a child of ours could tell us something. A filter around us may already tell somebody else, and a
// kernel lets only one listen; that shows only when it is tried.
bool can_be_notified() {
  const std::uint32_t notify = SECCOMP_RET_USER_NOTIF;
  if (error_of(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0u, &notify) != 0) return false;
  if (::prctl(PR_GET_SECCOMP) != SECCOMP_MODE_FILTER) return true;
  const pid_t child = ::fork();
  if (child == 0) {
    sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    const sock_fprog program{1, &allow};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const long fd = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    ::_exit(fd >= 0 ? 0 : 1);
  }
  int status = -1;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return child > 0 && status == 0;
}

bool has_capabilities(std::uint32_t needed) {
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return false;
  return (data[0].effective & needed) == needed;
}

}  // namespace

void probe_system_calls(HostFacts& facts) {
  utsname name{};
  if (::uname(&name) == 0) facts.kernel = name.release;
  facts.arch = kArch;
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, std::size_t{0}, LANDLOCK_CREATE_RULESET_VERSION);
  facts.landlock_abi = abi > 0 ? static_cast<int>(abi) : 0;
  facts.mount_api = has_mount_api();
  facts.clone3 = error_of(SYS_clone3, nullptr, std::size_t{0}) == EINVAL;
  facts.pidfd = error_of(SYS_pidfd_open, -1, 0u) == EINVAL;
  facts.close_range = error_of(SYS_close_range, ~0u, 0u, 0u) == EINVAL;
  const std::uint32_t action = SECCOMP_RET_KILL_PROCESS;
  facts.seccomp_filter = error_of(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0u, &action) == 0;
  facts.seccomp_notify = facts.seccomp_filter && can_be_notified();
  facts.nproc_per_namespace = kernel_at_least(facts.kernel, 5, 14);
}

void probe_identity(HostFacts& facts) {
  uid_t uid[3] = {};
  gid_t gid[3] = {};
  ::getresuid(&uid[0], &uid[1], &uid[2]);
  ::getresgid(&gid[0], &gid[1], &gid[2]);
  facts.uid = uid[1];
  facts.gid = gid[1];
  facts.set_uid_program =
      uid[0] != uid[1] || uid[2] != uid[1] || gid[0] != gid[1] || gid[2] != gid[1] || ::getauxval(AT_SECURE) != 0;
  constexpr std::uint32_t kRoot = (1u << CAP_SYS_ADMIN) | (1u << CAP_SETUID) | (1u << CAP_SETGID) | (1u << CAP_SETPCAP);
  facts.is_root = uid[1] == 0 && has_capabilities(kRoot);
  facts.may_trace = !facts.is_root || has_capabilities(1u << CAP_SYS_PTRACE);
  const int count = ::getgroups(0, nullptr);
  if (count <= 0) return;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  const int got = ::getgroups(count, groups.data());
  // The primary group, listed once more by most logins, opens nothing that it does not open already.
  if (got > 0) {
    facts.supplementary_groups = static_cast<std::uint32_t>(
        std::count_if(groups.begin(), groups.begin() + got, [&](gid_t g) { return g != gid[1]; }));
  }
}

void probe_machine(HostFacts& facts) {
  rlimit open_files{};
  if (::getrlimit(RLIMIT_NOFILE, &open_files) == 0) facts.open_files = open_files.rlim_cur;
  // Raw, because glibc's cpu_set_t ends at 1024 cpus and the call fails on machines that could have more.
  unsigned long mask[128] = {};
  const long bytes = ::syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
  unsigned cpus = 0;
  for (const unsigned long word : mask) cpus += bytes > 0 ? static_cast<unsigned>(std::popcount(word)) : 0;
  facts.cpus = std::max(cpus, 1u);
  struct sysinfo info{};
  if (::sysinfo(&info) == 0) facts.memory = std::uint64_t{info.totalram} * info.mem_unit;
}

CloneAnswer ask_user_namespace_clone() {
  // A user namespace together with a shared fs struct is refused as EINVAL before anything is made.
  const long answer = ::syscall(SYS_clone, CLONE_NEWUSER | CLONE_FS | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (answer == 0) ::_exit(0);
  if (answer > 0) {
    while (::waitpid(static_cast<pid_t>(answer), nullptr, 0) < 0 && errno == EINTR) {
    }
    return CloneAnswer::kReachesKernel;
  }
  return errno == EINVAL ? CloneAnswer::kReachesKernel : CloneAnswer::kFiltered;
}

}  // namespace cloche::host
