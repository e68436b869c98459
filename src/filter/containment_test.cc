// Lines of the containment checklist (docs/containment.md) as properties of the compiled program: C11 is line 11.
#include <linux/audit.h>
#include <linux/bpf_common.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <csignal>

#include "filter/test_support.h"

namespace cloche::filter {
namespace {

using namespace testing;

constexpr std::uint64_t kGarbage[] = {0, 1ull << 32, 1ull << 63, 0xffffffffull << 32};
constexpr std::uint64_t kNoExecSeal = 8;
constexpr std::uint64_t kAtEmptyPath = 0x1000;

void expect_all(std::initializer_list<std::string_view> names, std::uint32_t verdict) {
  for (const Case& c : every_case()) {
    for (const std::string_view name : names) {
      const Rule* rule = c.find(name);
      if (rule == nullptr) continue;  // aarch64 lacks the old forms
      EXPECT_EQ(c.judge(rule->number), verdict) << name << " on " << c.name();
      EXPECT_TRUE(rule->clauses.empty()) << name << " must not depend on arguments";
    }
  }
}

TEST(FilterContainment, C8_CannotBypassExecPolicyWithMemfd) {
  for (const Case& c : every_case()) {
    for (const std::uint64_t high : kGarbage) {
      const std::uint32_t refused = c.options.exec_writable ? kAllowed : failing(EACCES);
      EXPECT_EQ(c.judge("memfd_create", {0, high | 0}), refused);
      EXPECT_EQ(c.judge("memfd_create", {0, high | 1}), refused);
      EXPECT_EQ(c.judge("memfd_create", {0, high | 0x10}), refused) << "MFD_EXEC";
      EXPECT_EQ(c.judge("memfd_create", {0, high | kNoExecSeal | 1}), kAllowed);
      EXPECT_EQ(c.judge("execveat", {3, 0, 0, 0, high | kAtEmptyPath}), refused);
      EXPECT_EQ(c.judge("execveat", {3, 0, 0, 0, high | kAtEmptyPath | 0x100}), refused);
      EXPECT_EQ(c.judge("execveat", {3, 0, 0, 0, high | 0x100}), kAllowed);
    }
  }
  expect_all({"memfd_secret"}, failing(EPERM));
}

TEST(FilterContainment, C11_CannotBypassTerminalInjectionWithHighBits) {
  for (const Case& c : every_case()) {
    for (const std::uint64_t high : kGarbage) {
      EXPECT_EQ(c.judge("ioctl", {0, high | TIOCSTI}), failing(EPERM));
      EXPECT_EQ(c.judge("ioctl", {0, high | 0x541c}), failing(EPERM)) << "TIOCLINUX";
      EXPECT_EQ(c.judge("ioctl", {0, high | TIOCSETD}), failing(EPERM));
      EXPECT_EQ(c.judge("ioctl", {0, high | TIOCGWINSZ}), kAllowed);
      EXPECT_EQ(c.judge("ioctl", {0, high | TCGETS}), kAllowed);
      EXPECT_EQ(c.judge("ioctl", {0, high | FIONREAD}), kAllowed);
    }
  }
}

TEST(FilterContainment, C22_CannotBypassNamespaceBanThroughClone) {
  for (const Case& c : every_case()) {
    for (const std::uint64_t high : kGarbage) {
      for (const std::uint64_t flag :
           {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET}) {
        EXPECT_EQ(c.judge("clone", {high | flag}), failing(EPERM)) << flag;
        EXPECT_EQ(c.judge("clone", {high | flag | SIGCHLD}), failing(EPERM)) << flag;
        EXPECT_EQ(c.judge("clone", {high | flag | CLONE_VM | CLONE_VFORK}), failing(EPERM)) << flag;
      }
      EXPECT_EQ(c.judge("clone", {high | SIGCHLD}), kAllowed) << "fork";
      EXPECT_EQ(c.judge("clone", {high | 0x3d0f00}), kAllowed) << "pthread_create";
      EXPECT_EQ(c.judge("clone", {high | CLONE_VM | CLONE_VFORK | SIGCHLD}), kAllowed) << "posix_spawn";
    }
  }
  expect_all({"unshare", "setns"}, failing(EPERM));
}

TEST(FilterContainment, C24_DeniesKeyrings) { expect_all({"keyctl", "add_key", "request_key"}, failing(EPERM)); }

TEST(FilterContainment, C20_DeniesSetgroups) { expect_all({"setgroups"}, failing(EPERM)); }

TEST(FilterContainment, C23_CannotLeaveSetIdFilesBehind) {
  for (const Case& c : every_case()) {
    for (const std::uint64_t high : kGarbage) {
      for (const std::uint64_t mode : {S_ISUID | 0755, S_ISGID | 0755, S_ISUID | S_ISGID, S_IFREG | S_ISUID}) {
        EXPECT_EQ(c.judge("fchmod", {3, high | mode}), failing(EPERM));
        EXPECT_EQ(c.judge("fchmodat", {3, 0, high | mode}), failing(EPERM));
        EXPECT_EQ(c.judge("fchmodat2", {3, 0, high | mode}), failing(EPERM));
        EXPECT_EQ(c.judge("openat", {3, 0, high | O_CREAT | O_WRONLY, high | mode}), failing(EPERM));
        EXPECT_EQ(c.judge("openat", {3, 0, high | O_TMPFILE | O_WRONLY, high | mode}), failing(EPERM));
        EXPECT_EQ(c.judge("openat", {3, 0, high | O_RDONLY, high | mode}), kAllowed) << "the mode is garbage here";
        if (c.arch != AUDIT_ARCH_X86_64) continue;
        EXPECT_EQ(c.judge("chmod", {0, high | mode}), failing(EPERM));
        EXPECT_EQ(c.judge("creat", {0, high | mode}), failing(EPERM));
        EXPECT_EQ(c.judge("open", {0, high | O_CREAT, high | mode}), failing(EPERM));
        EXPECT_EQ(c.judge("open", {0, high | O_RDONLY, high | mode}), kAllowed);
      }
      EXPECT_EQ(c.judge("fchmodat", {3, 0, high | S_ISVTX | 0777}), kAllowed);
      EXPECT_EQ(c.judge("openat", {3, 0, high | O_CREAT, high | 0644}), kAllowed);
    }
  }
  expect_all({"openat2"}, failing(ENOSYS));
}

TEST(FilterContainment, C35_DeniesTheWholeMountFamily) {
  expect_all({"mount", "umount2", "pivot_root", "open_tree", "open_tree_attr", "move_mount", "fsopen", "fsmount",
              "fsconfig", "fspick", "mount_setattr", "chroot", "statmount", "listmount"},
             failing(EPERM));
}

TEST(FilterContainment, C39_MakesNamedPipesAndNoOtherNode) {
  for (const Case& c : every_case()) {
    for (const std::uint64_t high : kGarbage) {
      for (const std::uint64_t mode :
           {S_IFCHR | 0666, S_IFBLK | 0666, S_IFCHR | 0, S_IFREG | 0644, S_IFSOCK | 0644, 0644,
            S_IFIFO | S_ISUID | 0644, S_IFIFO | S_ISGID, S_IFDIR | 0755, S_IFLNK | 0777}) {
        EXPECT_EQ(c.judge("mknodat", {3, 0, high | mode, 0}), failing(EPERM)) << mode;
        if (c.arch != AUDIT_ARCH_X86_64) continue;
        EXPECT_EQ(c.judge("mknod", {0, high | mode, 0}), failing(EPERM)) << mode;
      }
      EXPECT_EQ(c.judge("mknodat", {3, 0, high | S_IFIFO | 0644, 0}), kAllowed);
      if (c.arch != AUDIT_ARCH_X86_64) continue;
      EXPECT_EQ(c.judge("mknod", {0, high | S_IFIFO | 0600, 0}), kAllowed);
    }
  }
}

TEST(FilterContainment, C45_CannotTouchTheCoreDumpLimit) {
  for (const Case& c : every_case()) {
    for (const std::uint64_t high : kGarbage) {
      EXPECT_EQ(c.judge("setrlimit", {high | RLIMIT_CORE, 0x1000}), failing(EPERM));
      EXPECT_EQ(c.judge("setrlimit", {high | RLIMIT_NOFILE, 0x1000}), kAllowed);
      EXPECT_EQ(c.judge("prlimit64", {0, high | RLIMIT_CORE, 0x1000, 0}), failing(EPERM));
      EXPECT_EQ(c.judge("prlimit64", {0, high | RLIMIT_CORE, 0x7fff00000000, 0}), failing(EPERM)) << "low half zero";
      EXPECT_EQ(c.judge("prlimit64", {0, high | RLIMIT_CORE, 0, 0x1000}), kAllowed) << "reading";
      EXPECT_EQ(c.judge("prlimit64", {0, high | RLIMIT_NOFILE, 0x1000, 0}), kAllowed);
    }
  }
}

TEST(FilterContainment, C47_DeniesReachingIntoOtherProcesses) {
  expect_all({"process_vm_readv", "process_vm_writev", "ptrace", "pidfd_getfd", "kcmp", "process_madvise",
              "process_mrelease", "move_pages", "migrate_pages"},
             failing(EPERM));
  for (const Case& c : every_case()) {
    for (const std::uint64_t high : kGarbage) {
      EXPECT_EQ(c.judge("prctl", {high | PR_SET_PTRACER}), failing(EPERM));
      EXPECT_EQ(c.judge("prctl", {high | PR_SET_MM}), failing(EPERM));
      EXPECT_EQ(c.judge("prctl", {high | 62}), failing(EPERM)) << "PR_SCHED_CORE";
      EXPECT_EQ(c.judge("prctl", {high | PR_SET_NAME}), kAllowed);
      EXPECT_EQ(c.judge("prctl", {high | PR_SET_DUMPABLE}), kAllowed);
      EXPECT_EQ(c.judge("prctl", {high | PR_SET_SECCOMP}), kAllowed);
    }
  }
}

TEST(FilterContainment, C48_DeniesKernelSurface) {
  expect_all({"bpf",
              "perf_event_open",
              "userfaultfd",
              "kexec_load",
              "kexec_file_load",
              "init_module",
              "finit_module",
              "delete_module",
              "open_by_handle_at",
              "name_to_handle_at",
              "swapon",
              "swapoff",
              "reboot",
              "acct",
              "quotactl",
              "quotactl_fd",
              "syslog",
              "iopl",
              "ioperm",
              "modify_ldt",
              "settimeofday",
              "clock_settime",
              "adjtimex",
              "clock_adjtime",
              "sethostname",
              "setdomainname",
              "fanotify_init",
              "fanotify_mark",
              "lsm_set_self_attr",
              "vhangup"},
             failing(EPERM));
  for (const Case& c : every_case()) {
    for (const std::uint64_t high : kGarbage) {
      EXPECT_EQ(c.judge("personality", {high | 0}), kAllowed);
      EXPECT_EQ(c.judge("personality", {high | 0xffffffff}), kAllowed);
      for (const std::uint64_t bad : {0x0008ull, 0x0040000ull, 0x0400000ull, 0x80000000ull, 0xfffffffeull, 1ull}) {
        EXPECT_EQ(c.judge("personality", {high | bad}), failing(EPERM)) << bad;
      }
    }
  }
}

TEST(FilterContainment, C49_IoUringIsAbsentAndDoesNotKill) {
  expect_all({"io_uring_setup", "io_uring_enter", "io_uring_register"}, failing(ENOSYS));
}

TEST(FilterContainment, C50_CannotBypassThroughAnotherEntry) {
  for (const Case& c : every_case()) {
    for (const std::uint32_t number : interesting_numbers()) {
      for (const std::uint32_t arch : {AUDIT_ARCH_I386 + 0u, AUDIT_ARCH_ARM + 0u, c.arch ^ 1, 0u, 0xffffffffu}) {
        ASSERT_EQ(evaluate(c.program, {arch, number, {}}), kKilled) << number;
      }
      if (number >= 0x40000000) {
        ASSERT_EQ(c.judge(number), failing(ENOSYS)) << number;
      }
    }
  }
}

// Allowed without a look at the arguments are exactly the calls whose rule says so: an allowlist.
TEST(FilterContainment, C50_AllowsNothingThatIsNotListed) {
  for (const Case& c : every_case()) {
    for (const std::uint32_t number : interesting_numbers()) {
      if (c.judge(number) != kAllowed) continue;
      EXPECT_TRUE(std::any_of(c.table.begin(), c.table.end(), [&](const Rule& r) { return r.number == number; }))
          << number << " on " << c.name();
    }
  }
}

TEST(FilterContainment, C51_Clone3SendsLibcBackToClone) { expect_all({"clone3"}, failing(ENOSYS)); }

TEST(FilterContainment, C52_UnknownNumbersAreAbsent) {
  for (const Case& c : every_case()) {
    for (std::uint32_t number = 470; number < 5000; ++number) ASSERT_EQ(c.judge(number), failing(ENOSYS)) << number;
    EXPECT_EQ(c.judge(0xffffffffu), failing(ENOSYS));
  }
  const Case x86 = make_case(AUDIT_ARCH_X86_64, {});
  for (std::uint32_t number = 337; number < 424; ++number) EXPECT_EQ(x86.judge(number), failing(ENOSYS)) << number;
  const Case arm = make_case(AUDIT_ARCH_AARCH64, {});
  for (std::uint32_t number = 295; number < 424; ++number) EXPECT_EQ(arm.judge(number), failing(ENOSYS)) << number;
}

// What the kernel takes as 32 bits or fewer is not influenced by the upper half; only the pointer of prlimit64 is.
TEST(FilterContainment, C53_CannotBypassWithTheUpperHalfOfARegister) {
  for (const Case& c : every_case()) {
    for (const Rule& rule : c.table) {
      if (rule.clauses.empty() || rule.name == "prlimit64") continue;
      for (const Call& call : boundary_calls(rule, c.arch)) {
        Call clean = call;
        for (std::uint64_t& arg : clean.args) arg &= 0xffffffff;
        ASSERT_EQ(evaluate(c.program, call), evaluate(c.program, clean)) << rule.name;
      }
    }
  }
}

// No verdict leaves the kernel: nothing to race against, nobody to ask.
TEST(FilterContainment, C54_EveryVerdictIsFinal) {
  for (const Case& c : every_case()) {
    for (const sock_filter& in : c.program) {
      if (BPF_CLASS(in.code) != BPF_RET) continue;
      const std::uint32_t action = in.k & SECCOMP_RET_ACTION_FULL;
      EXPECT_TRUE(in.code == (BPF_RET | BPF_K) &&
                  (action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_ERRNO || action == SECCOMP_RET_KILL_PROCESS))
          << std::hex << in.k;
    }
  }
}

TEST(FilterContainment, C55_SocketFamiliesAreAllowlisted) {
  for (const Case& c : every_case()) {
    for (const std::uint64_t high : kGarbage) {
      for (std::uint64_t family = 0; family < 64; ++family) {
        std::uint32_t expected = failing(EAFNOSUPPORT);
        if (family == AF_UNIX) expected = c.options.unix_sockets ? kAllowed : failing(EACCES);
        if (family == AF_INET || family == AF_INET6) expected = c.options.inet_sockets ? kAllowed : failing(EACCES);
        EXPECT_EQ(c.judge("socket", {high | family, high | SOCK_STREAM | SOCK_CLOEXEC, high}), expected) << family;
        EXPECT_EQ(c.judge("socket", {high | family, high | SOCK_DGRAM, high}), expected) << family;
        EXPECT_EQ(c.judge("socketpair", {high | family, high | SOCK_STREAM, high}),
                  family == AF_UNIX ? kAllowed : failing(EAFNOSUPPORT))
            << family;
        for (const std::uint64_t type : {+SOCK_RAW, +SOCK_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK}) {
          EXPECT_EQ(c.judge("socket", {high | family, high | type, high}), failing(EPERM)) << family;
          EXPECT_EQ(c.judge("socketpair", {high | family, high | type, high}), failing(EPERM)) << family;
        }
      }
    }
  }
}

TEST(FilterContainment, C55_CannotLoadTransportsBesideTcpAndUdp) {
  const Case c = make_case(AUDIT_ARCH_X86_64, {.inet_sockets = true});
  for (const std::uint64_t family : {AF_INET, AF_INET6}) {
    EXPECT_EQ(c.judge("socket", {family, SOCK_STREAM, 6}), kAllowed);
    EXPECT_EQ(c.judge("socket", {family, SOCK_DGRAM, 17}), kAllowed);
    for (const std::uint64_t protocol : {132, 33, 136, 115, 256, 262, 1, 58, 17}) {
      EXPECT_EQ(c.judge("socket", {family, SOCK_STREAM, protocol}), failing(EPROTONOSUPPORT)) << protocol;
    }
    for (const std::uint64_t type : {0, 4, 5, 6, 7}) {
      EXPECT_EQ(c.judge("socket", {family, type, 0}), failing(EPROTONOSUPPORT)) << type;
    }
  }
}

// A datagram end may still send to any name, so that a pair would be a way round the ban on unix sockets.
TEST(FilterContainment, C56_CannotBypassUnixSocketBanWithADatagramPair) {
  const Case c = make_case(AUDIT_ARCH_X86_64, {.unix_sockets = false});
  EXPECT_EQ(c.judge("socketpair", {AF_UNIX, SOCK_DGRAM, 0}), failing(EACCES));
  EXPECT_EQ(c.judge("socketpair", {AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0}), failing(EACCES));
  EXPECT_EQ(c.judge("socketpair", {AF_UNIX, SOCK_SEQPACKET, 0}), kAllowed);
}

TEST(FilterContainment, C64_CannotStallHostOpenersWithALease) {
  for (const Case& c : every_case()) {
    for (const std::uint64_t high : kGarbage) {
      EXPECT_EQ(c.judge("fcntl", {3, high | F_SETLEASE, F_RDLCK}), failing(EPERM));
      EXPECT_EQ(c.judge("fcntl", {3, high | 1040, 0}), failing(EPERM)) << "F_SETDELEG";
      EXPECT_EQ(c.judge("fcntl", {3, high | F_DUPFD_CLOEXEC, 0}), kAllowed);
      EXPECT_EQ(c.judge("fcntl", {3, high | F_SETLK, 0}), kAllowed);
    }
  }
}

// X8: the cpus and memory nodes that the engine gave are those the guest sees.
TEST(FilterContainment, X8_GuestCannotChangeItsCpusOrScheduling) {
  expect_all({"sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr", "mbind", "set_mempolicy",
              "set_mempolicy_home_node"},
             failing(EPERM));
}

// A guest that may set another process's limits can end or blind it: its own init, and on tier 0 the user's programs.
TEST(FilterContainment, C15_CannotReachAnotherProcessByItsLimitsOrPriority) {
  for (const Case& c : every_case()) {
    for (const std::uint64_t high : kGarbage) {
      EXPECT_EQ(c.judge("prlimit64", {high | 1, RLIMIT_NOFILE, 0x1000, 0}), failing(EPERM));
      EXPECT_EQ(c.judge("prlimit64", {high | 1, RLIMIT_CORE, 0, 0x1000}), failing(EPERM));
      EXPECT_EQ(c.judge("setpriority", {PRIO_PROCESS, high | 1, 19}), failing(EPERM));
      EXPECT_EQ(c.judge("setpriority", {high | PRIO_USER, 0, 19}), failing(EPERM));
      EXPECT_EQ(c.judge("setpriority", {PRIO_PROCESS, high, 19}), kAllowed);
      EXPECT_EQ(c.judge("ioprio_set", {1, high | 1, 0}), failing(EPERM));
      EXPECT_EQ(c.judge("ioprio_set", {high | 3, 0, 0}), failing(EPERM));
    }
  }
}

TEST(FilterContainment, C39_CannotMakeADeviceByWhiteout) {
  for (const Case& c : every_case()) {
    EXPECT_EQ(c.judge("renameat2", {0, 0, 0, 0, 4}), failing(EPERM));
    EXPECT_EQ(c.judge("renameat2", {0, 0, 0, 0, 1}), kAllowed);
  }
}

TEST(FilterContainment, C58_WithoutANamespaceThereIsNoIpc) {
  for (const std::uint32_t arch : {AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64}) {
    const Case shared = make_case(arch, {.own_ipc = false});
    for (const char* name : {"shmget", "shmat", "semget", "semop", "msgget", "msgsnd", "mq_open", "mq_unlink"}) {
      EXPECT_EQ(shared.judge(name, {1, 2, 3}), failing(EPERM)) << name;
      EXPECT_EQ(make_case(arch, {}).judge(name, {1, 2, 3}), kAllowed) << name;
    }
  }
}

TEST(FilterContainment, N8_CannotTakeADiskAtOnceWhereTheLimitIsWatched) {
  for (const std::uint32_t arch : {AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64}) {
    EXPECT_EQ(make_case(arch, {.reserve_room = false}).judge("fallocate", {3, 0, 0, 1 << 30}), failing(EOPNOTSUPP));
    EXPECT_EQ(make_case(arch, {}).judge("fallocate", {3, 0, 0, 1 << 30}), kAllowed);
  }
}

TEST(FilterContainment, C59_CannotTakeMemoryThatTheLimitDoesNotCount) {
  for (const Case& c : every_case()) {
    EXPECT_EQ(c.judge("mmap", {0, 4096, 3, 0x40022}), failing(ENOMEM)) << "MAP_HUGETLB";
    EXPECT_EQ(c.judge("mmap", {0, 4096, 3, 0x22}), kAllowed);
    EXPECT_NE(c.judge("memfd_create", {0, kNoExecSeal | 4}), kAllowed) << "MFD_HUGETLB";
  }
  EXPECT_EQ(make_case(AUDIT_ARCH_X86_64, {}).judge("shmget", {1, 4096, 04000}), failing(ENOMEM));
}

}  // namespace
}  // namespace cloche::filter
