#include "filter/table.h"

#include <seccomp.h>

#include <cstdlib>
#include <memory>
#include <set>

#include "filter/test_support.h"

namespace cloche::filter {
namespace {

using namespace testing;

// The name libseccomp knows a number by; empty when it knows none.
std::string known_name(std::uint32_t arch, int number) {
  const std::unique_ptr<char, decltype(&std::free)> name(seccomp_syscall_resolve_num_arch(arch, number), &std::free);
  return name ? name.get() : "";
}

TEST(FilterTable, IsSortedByNumberWithoutDuplicates) {
  for (const Case& c : every_case()) {
    for (std::size_t i = 1; i < c.table.size(); ++i) {
      EXPECT_LT(c.table[i - 1].number, c.table[i].number) << c.table[i].name;
    }
  }
}

// rules() places entries by number, so two entries for one number would hide each other.
TEST(FilterTable, HasOneEntryPerNumberAndName) {
  std::set<std::string_view> names;
  std::set<std::int16_t> x86_64;
  std::set<std::int16_t> aarch64;
  std::size_t entries = 0;
  for (const Group& group : groups()) {
    for (const Entry& entry : group.entries) {
      ++entries;
      EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
      EXPECT_TRUE(entry.x86_64 == kAbsent || x86_64.insert(entry.x86_64).second) << entry.name;
      EXPECT_TRUE(entry.aarch64 == kAbsent || aarch64.insert(entry.aarch64).second) << entry.name;
    }
  }
  EXPECT_EQ(entries, names.size());
  EXPECT_EQ(rules(AUDIT_ARCH_X86_64, {}).size(), x86_64.size());
  EXPECT_EQ(rules(AUDIT_ARCH_AARCH64, {}).size(), aarch64.size());
}

TEST(FilterTable, EveryEntryHasAReason) {
  for (const Case& c : every_case()) {
    for (const Rule& rule : c.table) {
      EXPECT_GE(rule.reason.size(), 10u) << rule.name;
      EXPECT_EQ(rule.reason.find_first_of("|\n"), std::string_view::npos) << rule.name << " would break the document";
    }
  }
}

TEST(FilterTable, EveryGuardSaysInWordsWhatItDoes) {
  for (std::size_t i = 1; i < kGuardCount; ++i) {
    for (const Case& c : every_case()) EXPECT_FALSE(guard_text(static_cast<Guard>(i), c.options).empty()) << i;
  }
}

// A number that a kernel has and the table lacks would be answered by default; it must have been looked at.
TEST(FilterTable, ClassifiesEveryCallThatLibseccompKnows) {
  for (const Case& c : default_cases()) {
    int known = 0;
    for (int number = 0; number <= 460; ++number) {
      const std::string name = known_name(c.arch, number);
      if (name.empty()) continue;
      ++known;
      const Rule* rule = c.find(name);
      ASSERT_NE(rule, nullptr) << name << " (" << number << ") is not classified on " << c.name();
      EXPECT_EQ(rule->number, static_cast<std::uint32_t>(number)) << name;
    }
    EXPECT_GE(known, 300) << "libseccomp answered for too few numbers to prove anything";
  }
}

// Beyond libseccomp 2.5: numbers shared by all architectures, up to Linux 6.18.
TEST(FilterTable, ClassifiesEveryCallUpToLinux618) {
  for (const Case& c : default_cases()) {
    for (std::uint32_t number = 424; number <= 469; ++number) {
      EXPECT_TRUE(std::any_of(c.table.begin(), c.table.end(), [&](const Rule& r) { return r.number == number; }))
          << number << " is not classified on " << c.name();
    }
    EXPECT_EQ(c.find("open_tree_attr")->number, 467u);
    EXPECT_EQ(c.find("file_setattr")->number, 469u);
  }
}

TEST(FilterTable, KnowsNoOtherArchitecture) { EXPECT_TRUE(rules(AUDIT_ARCH_I386, {}).empty()); }

// What Python, Node, Ruby, Perl, Go, Java, git, gcc and the shells cannot start or work without.
TEST(FilterTable, AllowsWhatOrdinaryProgramsNeed) {
  constexpr std::string_view kNeeded[] = {"read",
                                          "write",
                                          "close",
                                          "fstat",
                                          "lseek",
                                          "mmap",
                                          "mprotect",
                                          "munmap",
                                          "brk",
                                          "rt_sigaction",
                                          "rt_sigprocmask",
                                          "rt_sigreturn",
                                          "pread64",
                                          "writev",
                                          "pipe2",
                                          "sched_yield",
                                          "mremap",
                                          "madvise",
                                          "dup",
                                          "dup3",
                                          "nanosleep",
                                          "getpid",
                                          "sendfile",
                                          "connect",
                                          "sendto",
                                          "recvmsg",
                                          "execve",
                                          "exit",
                                          "wait4",
                                          "kill",
                                          "uname",
                                          "fsync",
                                          "ftruncate",
                                          "getcwd",
                                          "chdir",
                                          "mkdirat",
                                          "unlinkat",
                                          "linkat",
                                          "symlinkat",
                                          "readlinkat",
                                          "umask",
                                          "gettimeofday",
                                          "getrusage",
                                          "sysinfo",
                                          "times",
                                          "getuid",
                                          "setpgid",
                                          "setsid",
                                          "sigaltstack",
                                          "statfs",
                                          "getpriority",
                                          "gettid",
                                          "futex",
                                          "sched_getaffinity",
                                          "getdents64",
                                          "set_tid_address",
                                          "restart_syscall",
                                          "fadvise64",
                                          "clock_gettime",
                                          "clock_nanosleep",
                                          "exit_group",
                                          "epoll_ctl",
                                          "epoll_pwait",
                                          "tgkill",
                                          "waitid",
                                          "inotify_add_watch",
                                          "newfstatat",
                                          "renameat2",
                                          "faccessat",
                                          "faccessat2",
                                          "pselect6",
                                          "ppoll",
                                          "set_robust_list",
                                          "splice",
                                          "utimensat",
                                          "timerfd_create",
                                          "eventfd2",
                                          "epoll_create1",
                                          "inotify_init1",
                                          "getcpu",
                                          "seccomp",
                                          "getrandom",
                                          "membarrier",
                                          "copy_file_range",
                                          "preadv2",
                                          "pkey_alloc",
                                          "statx",
                                          "rseq",
                                          "pidfd_open",
                                          "pidfd_send_signal",
                                          "close_range",
                                          "epoll_pwait2",
                                          "landlock_restrict_self",
                                          "futex_waitv",
                                          "cachestat",
                                          "map_shadow_stack",
                                          "futex_wake",
                                          "mseal",
                                          "capset",
                                          "setuid",
                                          "shmget",
                                          "get_mempolicy"};
  for (const Case& c : every_case()) {
    for (const std::string_view name : kNeeded) EXPECT_EQ(c.judge(name), kAllowed) << name << " on " << c.name();
  }
  const Case x86 = make_case(AUDIT_ARCH_X86_64, {});
  for (const std::string_view name : {"stat", "access", "fork", "vfork", "arch_prctl", "poll", "select", "rename",
                                      "unlink", "readlink", "epoll_wait", "time", "alarm", "getpgrp"}) {
    EXPECT_EQ(x86.judge(name), kAllowed) << name;
  }
}

}  // namespace
}  // namespace cloche::filter
