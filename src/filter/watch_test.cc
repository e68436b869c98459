// A watched filter allows and denies what the plain one does; it only tells of it.
#include "filter/watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <set>
#include <string>

#include "filter/interpret.h"

namespace cloche::filter {
namespace {

constexpr std::uint64_t kHere = 0xffffff9c;  // AT_FDCWD
constexpr std::uint32_t kArchs[] = {AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64};
constexpr Watch kLevels[] = {Watch::kNothing, Watch::kCalls, Watch::kFiles, Watch::kAll};

Telling all_of_it(Watch level) {
  return {.level = level,
          .inet_elsewhere = true,
          .own_processes = true,
          .own_mounts = true,
          .files = 64,
          .launch_socket = 3,
          .launch_flags = 0x4804};
}

std::uint32_t number_of(const std::vector<Rule>& rules, std::string_view name) {
  const auto rule = std::ranges::find(rules, name, &Rule::name);
  return rule == rules.end() ? ~0u : rule->number;
}

// Values that the checks of all rules compare with, and neighbours of them.
std::vector<std::uint64_t> telling_values(const std::vector<Rule>& rules) {
  std::set<std::uint64_t> out{0, 1, kHere, 0xdeadbeef00000000 | kHere, ~0ull, 0100, 01, 03};
  for (const Rule& rule : rules) {
    for (const Clause& clause : rule.clauses) {
      for (const ArgCheck& check : clause.all) out.insert({check.value, check.value + 1, check.mask, ~check.mask});
    }
  }
  return {out.begin(), out.end()};
}

// Every verdict of the plain rules stands, or is told; what is told is judged by the plain rules again.
void expect_same_law(const std::vector<Rule>& plain, const std::vector<Rule>& told, std::uint32_t arch,
                     const Call& call) {
  const std::uint32_t before = interpret(plain, arch, call);
  const std::uint32_t after = interpret(told, arch, call);
  if (after == before) return;
  ASSERT_EQ(after, SECCOMP_RET_USER_NOTIF) << "number " << call.number;
  ASSERT_NE(before, SECCOMP_RET_ERRNO | ENOSYS) << "number " << call.number;
  ASSERT_NE(before, SECCOMP_RET_KILL_PROCESS) << "number " << call.number;
}

TEST(FilterWatch, X4_ChangesNoVerdict) {
  for (const std::uint32_t arch : kArchs) {
    for (const bool open : {false, true}) {
      const Options options{open, open, open, open};
      const auto plain = rules(arch, options);
      for (const Watch level : kLevels) {
        const auto told = watched(plain, open ? all_of_it(level) : Telling{.level = level});
        auto values = telling_values(plain);
        std::ranges::copy(telling_values(told), std::back_inserter(values));
        ASSERT_EQ(told.size(), plain.size());
        for (const Rule& rule : plain) {
          Call call{arch, rule.number, {}};
          expect_same_law(plain, told, arch, call);
          // One argument at a time, the others being nothing or what most checks ask for.
          for (const std::uint64_t others : {std::uint64_t{0}, kHere, ~std::uint64_t{0}}) {
            std::ranges::fill(call.args, others);
            for (std::uint64_t& argument : call.args) {
              for (const std::uint64_t value : values) {
                argument = value;
                expect_same_law(plain, told, arch, call);
                if (HasFatalFailure()) return;
              }
              argument = others;
            }
          }
        }
      }
    }
  }
}

TEST(FilterWatch, CompilesToWhatTheRulesSay) {
  for (const std::uint32_t arch : kArchs) {
    for (const Watch level : kLevels) {
      const auto told = watched(rules(arch, {}), all_of_it(level));
      const auto program = compile(told, arch);
      ASSERT_TRUE(is_loadable(program));
      const auto values = telling_values(told);
      for (const Rule& rule : told) {
        for (std::size_t i = 0; i < 6; ++i) {
          for (const std::uint64_t value : values) {
            Call call{arch, rule.number, {}};
            call.args[0] = kHere;
            call.args[i] = value;
            ASSERT_EQ(evaluate(program, call), interpret(told, arch, call)) << rule.name << " " << i << " " << value;
          }
        }
      }
    }
  }
}

TEST(FilterWatch, X4_TellsOfWhatIsDenied) {
  const std::uint32_t arch = native_arch();
  const auto told = watched(rules(arch, {}), {.level = Watch::kCalls});
  const auto verdict = [&](std::string_view name, std::initializer_list<std::uint64_t> args) {
    Call call{arch, number_of(told, name), {}};
    std::ranges::copy(args, call.args);
    return interpret(told, arch, call);
  };
  EXPECT_EQ(verdict("mount", {}), SECCOMP_RET_USER_NOTIF);
  EXPECT_EQ(verdict("bpf", {}), SECCOMP_RET_USER_NOTIF);
  EXPECT_EQ(verdict("socket", {2, 1, 0}), SECCOMP_RET_USER_NOTIF);
  EXPECT_EQ(verdict("socket", {16, 3, 0}), SECCOMP_RET_USER_NOTIF);
  EXPECT_EQ(verdict("unshare", {0x10000000}), SECCOMP_RET_USER_NOTIF);
  // By this one the guest-to-be tries its filter when nobody listens yet.
  EXPECT_EQ(verdict("unshare", {0}), SECCOMP_RET_ERRNO | EPERM);
  // Asked by every program to find out that it is missing.
  EXPECT_EQ(verdict("clone3", {}), SECCOMP_RET_ERRNO | ENOSYS);
}

TEST(FilterWatch, X4_ConnectionsThatAGatewayTellsOfAreNotToldTwice) {
  const std::uint32_t arch = native_arch();
  const auto plain = rules(arch, {});
  const auto verdict = [&](Watch level, bool elsewhere, std::uint64_t length) {
    const Call call{arch, number_of(plain, "connect"), {3, 0x1000, length}};
    return interpret(watched(plain, {.level = level, .inet_elsewhere = elsewhere}), arch, call);
  };
  for (const std::uint64_t length : {sizeof(sockaddr_in), sizeof(sockaddr_in6)}) {
    EXPECT_EQ(verdict(Watch::kFiles, true, length), SECCOMP_RET_ALLOW);
    EXPECT_EQ(verdict(Watch::kFiles, true, 0xdeadbeef00000000 | length), SECCOMP_RET_ALLOW) << "an int";
    EXPECT_EQ(verdict(Watch::kFiles, false, length), SECCOMP_RET_USER_NOTIF);
    EXPECT_EQ(verdict(Watch::kAll, true, length), SECCOMP_RET_USER_NOTIF);
  }
  EXPECT_EQ(verdict(Watch::kCalls, true, sizeof(sockaddr_un)), SECCOMP_RET_USER_NOTIF);
}

TEST(FilterWatch, X4_SignalsAreToldButForQuestionsAndInterruptions) {
  const std::uint32_t arch = native_arch();
  const auto told = watched(rules(arch, {}), {.level = Watch::kAll});
  const auto less = watched(rules(arch, {}), {.level = Watch::kFiles});
  for (const std::string_view name : {"kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"}) {
    const std::size_t at = name.find("tg") == std::string_view::npos ? 1 : 2;
    const auto verdict = [&](std::uint64_t signal) {
      Call call{arch, number_of(told, name), {7, 7, 7}};
      call.args[at] = signal;
      return interpret(told, arch, call);
    };
    EXPECT_EQ(verdict(SIGTERM), SECCOMP_RET_USER_NOTIF) << name;
    // By these, programs signal themselves all the time.
    const bool of_thread = name.find("tkill") == 0 || name.find("tg") != std::string_view::npos;
    const Call call{arch, number_of(less, name), {7, SIGTERM, SIGTERM}};
    EXPECT_EQ(interpret(less, arch, call), of_thread ? SECCOMP_RET_ALLOW : SECCOMP_RET_USER_NOTIF) << name;
    EXPECT_EQ(verdict(0), SECCOMP_RET_ALLOW) << name;
    EXPECT_EQ(verdict(SIGURG), SECCOMP_RET_ALLOW) << name;
  }
}

// Whether a call is told of.
bool tells(const Telling& telling, std::string_view name, std::initializer_list<std::uint64_t> args) {
  const std::uint32_t arch = native_arch();
  const auto plain = rules(arch, {});
  Call call{arch, number_of(plain, name), {}};
  std::ranges::copy(args, call.args);
  return interpret(watched(plain, telling), arch, call) == SECCOMP_RET_USER_NOTIF;
}

TEST(FilterWatch, X4_DatagramsAreToldByTheirAddressAndStreamsNotAtAll) {
  const Telling some{.level = Watch::kCalls};
  EXPECT_TRUE(tells(some, "sendto", {3, 0x1000, 9, 0, 0x2000, 16}));
  EXPECT_TRUE(tells(some, "sendto", {3, 0x1000, 9, 0, 0x100000000, 16})) << "a pointer has 64 bits";
  EXPECT_FALSE(tells(some, "sendto", {3, 0x1000, 9, 0, 0, 0}));
  EXPECT_FALSE(tells(some, "write", {3, 0x1000, 9}));
  EXPECT_FALSE(tells({.level = Watch::kFiles, .inet_elsewhere = true}, "sendto", {3, 0x1000, 9, 0, 0x2000, 16}));
  EXPECT_TRUE(tells({.level = Watch::kFiles, .inet_elsewhere = true}, "sendto", {3, 0x1000, 9, 0, 0x2000, 17}));
  EXPECT_TRUE(tells(some, "sendmmsg", {3, 0x1000, 2, 0}));
  // Whole protocols send every message by it; its address is behind a pointer.
  EXPECT_FALSE(tells({.level = Watch::kFiles}, "sendmsg", {3, 0x1000, 0}));
  EXPECT_TRUE(tells({.level = Watch::kAll}, "sendmsg", {3, 0x1000, 0}));
}

TEST(FilterWatch, AGuestToBeCanSayThatItIsReadyBeforeAnybodyListens) {
  const Telling all = all_of_it(Watch::kAll);
  EXPECT_FALSE(tells(all, "sendmsg", {all.launch_socket, 0x1000, all.launch_flags}));
  EXPECT_TRUE(tells(all, "sendmsg", {all.launch_socket, 0x1000, 0x4000}));
  EXPECT_TRUE(tells(all, "sendmsg", {all.launch_socket + 1, 0x1000, all.launch_flags}));
}

TEST(FilterWatch, X4_ThreadsOfOthersAreToldAndThoseOfTheCellCostNothing) {
  const Telling own{.level = Watch::kCalls, .own_processes = true};
  for (const std::string_view name :
       {"kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open"}) {
    EXPECT_FALSE(tells(own, name, {kOwnNumbers - 1, SIGUSR1, SIGUSR1})) << name;
    EXPECT_TRUE(tells(own, name, {kOwnNumbers, SIGUSR1, SIGUSR1})) << name;
    EXPECT_TRUE(tells(own, name, {0xffffffff, SIGUSR1, SIGUSR1})) << name;
  }
  // Where processes have numbers of the host nobody can know which thread is whose.
  EXPECT_FALSE(tells({.level = Watch::kFiles}, "tgkill", {kOwnNumbers, kOwnNumbers, SIGUSR1}));
  EXPECT_TRUE(tells({.level = Watch::kCalls}, "kill", {7, SIGUSR1}));
  EXPECT_TRUE(tells(own, "pidfd_send_signal", {7, SIGUSR1}));
  EXPECT_FALSE(tells(own, "pidfd_send_signal", {7, 0})) << "a question";
}

TEST(FilterWatch, X4_TheLastDescriptorIsToldAndAllThatAreMadeAtTheHighestLevel) {
  const Telling some{.level = Watch::kCalls, .files = 64};
  for (const std::string_view name : {"close", "fcntl", "ioctl", "setsockopt", "getsockname", "listen", "ftruncate"}) {
    EXPECT_TRUE(tells(some, name, {63, 3})) << name;
    EXPECT_FALSE(tells(some, name, {62, 3})) << name;
    EXPECT_FALSE(tells({.level = Watch::kCalls}, name, {63, 3})) << name;
  }
  EXPECT_TRUE(tells(some, "epoll_ctl", {4, 1, 63}));
  EXPECT_FALSE(tells(some, "epoll_ctl", {63, 1, 4}));
  for (const std::string_view name : {"socketpair", "pipe2", "dup", "accept4", "eventfd2", "epoll_create1"}) {
    EXPECT_TRUE(tells({.level = Watch::kAll}, name, {1, 1})) << name;
    EXPECT_FALSE(tells({.level = Watch::kFiles}, name, {1, 1})) << name;
  }
  EXPECT_TRUE(tells({.level = Watch::kAll}, "fcntl", {5, F_DUPFD_CLOEXEC}));
  EXPECT_FALSE(tells({.level = Watch::kAll}, "fcntl", {5, F_GETFL}));
}

TEST(FilterWatch, X4_FilesAreToldThatAreMappedToBeExecutedAndNoOtherMemory) {
  const Telling some{.level = Watch::kFiles, .own_mounts = true};
  constexpr std::uint64_t kCode = PROT_READ | PROT_EXEC;
  EXPECT_TRUE(tells(some, "mmap", {0, 4096, kCode, MAP_PRIVATE, 3, 0}));
  EXPECT_TRUE(tells(some, "mmap", {0, 4096, PROT_EXEC, MAP_SHARED | MAP_FIXED, 3, 4096}));
  EXPECT_FALSE(tells(some, "mmap", {0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, 3, 0}));
  EXPECT_FALSE(tells(some, "mmap", {0, 4096, kCode, MAP_PRIVATE | MAP_ANONYMOUS, ~0ull, 0})) << "of a compiler";
  EXPECT_FALSE(tells(some, "mmap", {0, 4096, kCode, MAP_PRIVATE | MAP_HUGETLB, 3, 0})) << "about huge pages";
  EXPECT_FALSE(tells({.level = Watch::kCalls, .own_mounts = true}, "mmap", {0, 4096, kCode, MAP_PRIVATE, 3, 0}));
  EXPECT_FALSE(tells({.level = Watch::kAll}, "mmap", {0, 4096, kCode, MAP_PRIVATE, 3, 0}))
      << "Landlock does not judge it";
}

TEST(FilterWatch, X4_ChangesOfModesAndTheLikeAreToldByDescriptorToo) {
  for (const std::string_view name : {"fchmod", "fchown", "fsetxattr", "fremovexattr"}) {
    EXPECT_TRUE(tells({.level = Watch::kCalls, .own_mounts = true}, name, {3, 0644})) << name;
    EXPECT_FALSE(tells({.level = Watch::kAll}, name, {3, 0644})) << name << ": Landlock does not judge it";
  }
  EXPECT_TRUE(tells({.level = Watch::kCalls, .own_mounts = true}, "utimensat", {3, 0, 0, 0}));
}

TEST(FilterWatch, TellsMoreFromLevelToLevel) {
  const std::uint32_t arch = native_arch();
  const auto plain = rules(arch, {});
  const auto verdict = [&](Watch level, std::string_view name, std::initializer_list<std::uint64_t> args) {
    Call call{arch, number_of(plain, name), {}};
    std::ranges::copy(args, call.args);
    return interpret(watched(plain, {.level = level}), arch, call) == SECCOMP_RET_USER_NOTIF;
  };
  EXPECT_FALSE(verdict(Watch::kNothing, "openat", {kHere, 0, 01}));
  EXPECT_TRUE(verdict(Watch::kCalls, "openat", {kHere, 0, 01})) << "opens to write";
  EXPECT_FALSE(verdict(Watch::kCalls, "openat", {kHere, 0, 0})) << "opens to read";
  EXPECT_TRUE(verdict(Watch::kFiles, "openat", {kHere, 0, 0}));
  EXPECT_TRUE(verdict(Watch::kFiles, "openat", {0xdeadbeef00000000 | kHere, 0, 0})) << "an int";
  EXPECT_FALSE(verdict(Watch::kFiles, "openat", {5, 0, 0})) << "reads from an open directory";
  EXPECT_TRUE(verdict(Watch::kCalls, "openat", {5, 0, 01})) << "changes, wherever from";
  EXPECT_TRUE(verdict(Watch::kCalls, "unlinkat", {5, 0, 0}));
  EXPECT_TRUE(verdict(Watch::kAll, "openat", {5, 0, 0}));
  EXPECT_FALSE(verdict(Watch::kFiles, "newfstatat", {kHere}));
  EXPECT_TRUE(verdict(Watch::kAll, "newfstatat", {kHere}));
  constexpr std::uint64_t kNoAutomount = 0x800;  // as `ls` asks
  EXPECT_FALSE(verdict(Watch::kCalls, "statx", {kHere, 0, kNoAutomount}));
  EXPECT_TRUE(verdict(Watch::kFiles, "statx", {kHere, 0, kNoAutomount}));
  EXPECT_FALSE(verdict(Watch::kFiles, "statx", {kHere, 0, 0})) << "as node asks";
  EXPECT_TRUE(verdict(Watch::kFiles, "faccessat2", {kHere}));
  EXPECT_FALSE(verdict(Watch::kFiles, "statx", {5, 0, kNoAutomount})) << "from an open directory";
  EXPECT_TRUE(verdict(Watch::kAll, "statx", {5, 0, 0}));
  EXPECT_TRUE(verdict(Watch::kCalls, "execve", {}));
  EXPECT_TRUE(verdict(Watch::kCalls, "connect", {}));
  EXPECT_TRUE(verdict(Watch::kCalls, "renameat2", {5, 0, 6, 0, 0}));
  EXPECT_FALSE(verdict(Watch::kAll, "read", {}));
}

TEST(FilterWatch, EveryWatchedCallIsInTheTable) {
  const auto plain = rules(AUDIT_ARCH_X86_64, {});
  for (const WatchedCall& call : watched_calls()) EXPECT_NE(number_of(plain, call.name), ~0u) << call.name;
}

}  // namespace
}  // namespace cloche::filter
