// The sums here are the kernel's own: each is held against what it does.
#include "supervise/process_limits.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "supervise/guest_view.h"

namespace cloche {
namespace {

constexpr std::uint64_t kMebi = 1 << 20;

Plan limited(std::uint64_t memory, std::uint64_t address_space, std::uint64_t data, std::uint64_t tasks) {
  Plan plan;
  plan.tier = Tier::kProcess;
  plan.limits.memory = Bytes{memory};
  const auto add = [&](std::uint64_t resource, std::uint64_t value) {
    if (value != 0) plan.steps.push_back({.kind = wire::StepKind::kRlimit, .x = resource, .y = value});
  };
  add(RLIMIT_AS, address_space);
  add(RLIMIT_DATA, data);
  add(RLIMIT_NPROC, tasks);
  return plan;
}

// In a process of its own, which may limit itself.
bool holds(const std::function<bool()>& law) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(law() ? 0 : 1);
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool limit(int resource, std::uint64_t value) {
  const rlimit both{value, value};
  // NOLINTNEXTLINE(google-readability-casting): glibc's type of resources
  return ::setrlimit(static_cast<__rlimit_resource>(resource), &both) == 0;
}

std::uint64_t field(const char* name) {
  const std::string status = guest_view::read_start("/proc/self/status", 4096);
  return std::strtoull(status.c_str() + status.find(name) + std::strlen(name), nullptr, 10) << 10;
}

// Asked before the call, as an observer is.
bool agrees(const ProcessLimits& limits, std::uint64_t length, int protection, int flags, void* at = nullptr) {
  const auto growth = growth_of_mmap(reinterpret_cast<std::uint64_t>(at), length,
                                     static_cast<std::uint64_t>(protection), static_cast<std::uint64_t>(flags));
  const bool told = limits.refuses_memory(::getpid(), growth) != 0;
  void* got = ::mmap(at, length, protection, flags, -1, 0);
  const bool refused = got == MAP_FAILED && errno == ENOMEM;
  if (got != MAP_FAILED && at == nullptr) ::munmap(got, length);
  return told == refused;
}

TEST(ProcessLimits, X4_AddressSpaceIsRefusedAsTheKernelDoes) {
  EXPECT_TRUE(holds([] {
    const std::uint64_t most = (field("VmSize:") / 4096) * 4096 + 64 * kMebi;
    const ProcessLimits limits(limited(most, most, 0, 0));
    if (!limit(RLIMIT_AS, most)) return false;
    for (std::uint64_t length = 60 * kMebi; length <= 68 * kMebi; length += kMebi / 4) {
      if (!agrees(limits, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS)) return false;
      if (!agrees(limits, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS)) return false;
    }
    // What lies in the place of something else takes its share, too.
    void* whole = ::mmap(nullptr, 48 * kMebi, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return whole != MAP_FAILED &&
           agrees(limits, 48 * kMebi, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, whole) &&
           agrees(limits, 48 * kMebi, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  }));
}

TEST(ProcessLimits, X4_OfDataOnlyWhatIsPrivateAndWritableCounts) {
  EXPECT_TRUE(holds([] {
    const std::uint64_t most = (field("VmData:") / 4096) * 4096 + 16 * kMebi;
    const ProcessLimits limits(limited(most, 64ull << 30, most, 0));
    if (!limit(RLIMIT_DATA, most)) return false;
    for (std::uint64_t length = 12 * kMebi; length <= 20 * kMebi; length += kMebi / 4) {
      for (const int protection : {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE}) {
        for (const int flags : {MAP_PRIVATE, MAP_SHARED}) {
          if (!agrees(limits, length, protection, flags | MAP_ANONYMOUS)) return false;
        }
      }
    }
    return true;
  }));
}

TEST(ProcessLimits, X4_TheHeapIsRefusedAsTheKernelDoes) {
  EXPECT_TRUE(holds([] {
    if (::sbrk(4096) == reinterpret_cast<void*>(-1)) return false;
    // No whole number of steps: the last one fits in part.
    const std::uint64_t most = (field("VmSize:") / 4096) * 4096 + 16 * kMebi + kMebi / 2;
    const ProcessLimits limits(limited(most, most, 0, 0));
    if (!limit(RLIMIT_AS, most)) return false;
    for (int i = 0; i < 40; ++i) {
      const auto next = reinterpret_cast<std::uint64_t>(::sbrk(0)) + kMebi;
      const bool told = limits.refuses_heap(::getpid(), next) != 0;
      const bool refused = ::sbrk(kMebi) == reinterpret_cast<void*>(-1);
      if (told != refused || (i < 10 && refused) || (i > 20 && !refused)) return false;
    }
    return limits.refuses_heap(::getpid(), 4096) == 0;  // it shrinks
  }));
}

TEST(ProcessLimits, X4_WhatWouldBeHadIsTold) {
  const ProcessLimits limits(limited(kMebi, kMebi, kMebi, 0));
  EXPECT_GT(limits.refuses_memory(::getpid(), {8 * kMebi, true, 0}), 8 * kMebi);
  EXPECT_EQ(limits.refuses_memory(::getpid(), {}), 0u);
  EXPECT_EQ(limits.refuses_memory(::getpid(), {1ull << 62, true, 0}), 0u) << "no limit would give it that";
  const ProcessLimits wide(limited(kMebi, 64ull << 30, 0, 0));
  EXPECT_EQ(wide.refuses_memory(::getpid(), {65ull << 30, true, 0}), 0u) << "not the policy's own figure";
}

TEST(ProcessLimits, MappingsAreReadAsTheKernelWritesThem) {
  const auto found = parse_maps(
      "5581c0a00000-5581c0a21000 rw-p 00000000 00:00 0                          [heap]\n"
      "7f10-7f20 r--p 00000000 fe:00 12 /tmp/a b [heap]x\n"
      "nonsense\n7f30-7f");
  EXPECT_EQ(found, (std::vector<Mapping>{{0x5581c0a00000, 0x5581c0a21000, true}, {0x7f10, 0x7f20, false}}));
  EXPECT_EQ(overlap({0x20, false, 0x7f08}, found), 0x10u);
  EXPECT_EQ(growth_of_brk(0x5581c0a22001, found), (Growth{0x2000, true, 0}));
  EXPECT_EQ(growth_of_brk(0x5581c0a22001, {}), (Growth{0, true, 0}));
  EXPECT_EQ(growth_of_mremap(1, 8193), (Growth{8192, true, 0}));
}

// Of a user that has nothing else here: nobody starts or ends a process meanwhile.
TEST(ProcessLimits, X4_AsManyTasksAsMayBeAreRefusedMore) {
  if (::geteuid() != 0) GTEST_SKIP() << "not root: no user of its own";
  EXPECT_TRUE(holds([] {
    constexpr uid_t kNobodys = 1'987'654;
    constexpr std::uint64_t kMost = 4;
    if (::setresuid(kNobodys, kNobodys, kNobodys) != 0 || !limit(RLIMIT_NPROC, kMost)) return false;
    ProcessLimits limits(limited(kMebi, 0, 0, kMost));
    std::uint64_t told = 0, refused = 0;
    std::vector<pid_t> children;
    for (int i = 0; i < 8; ++i) {
      told += limits.refuses_task(::getpid()) ? 1 : 0;
      const pid_t child = ::fork();
      if (child == 0) {
        ::pause();
        ::_exit(0);
      }
      refused += child < 0 && errno == EAGAIN ? 1 : 0;
      if (child > 0) children.push_back(child);
    }
    for (const pid_t child : children) ::kill(child, SIGKILL);
    while (::wait(nullptr) > 0) continue;
    return refused == 5 && told == refused && !limits.refuses_task(::getpid());
  }));
}

}  // namespace
}  // namespace cloche
