#include "keeper/means.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "sys/file.h"

namespace cloche::keeper {
namespace {

using Cpus = std::array<unsigned long, 128>;  // 8192, as many as Linux knows

// By the system call: the C library's own set ends at 1024.
std::optional<Cpus> cpus_of(pid_t pid) {
  Cpus out{};
  if (::syscall(SYS_sched_getaffinity, pid, sizeof out, out.data()) <= 0) return std::nullopt;
  return out;
}

std::optional<int> nice_of(pid_t pid) {
  errno = 0;
  const int value = ::getpriority(PRIO_PROCESS, static_cast<id_t>(pid));
  if (value == -1 && errno != 0) return std::nullopt;
  return value;
}

void take_every_cpu() {
  Cpus all{};
  all.fill(~0UL);
  (void)::syscall(SYS_sched_setaffinity, 0, sizeof all, all.data());  // the kernel leaves out what is not ours to use
}

Status use_the_usual_scheduler() {
  const int policy = ::sched_getscheduler(0);
  constexpr sched_param kNone{};
  if (policy <= 0 || ::sched_setscheduler(0, SCHED_OTHER, &kNone) == 0) return {};
  return fail_errno(errno, "keeper",
                    "it was started with a scheduling policy that it cannot leave, and so would every cell",
                    "start it without chrt, or without the service's CPUSchedulingPolicy");
}

Status lay_memory_out_as_usual() {
  constexpr unsigned long kAsk = 0xffffffff;
  if (::personality(kAsk) != PER_LINUX && ::personality(PER_LINUX) == -1) {
    return fail_errno(errno, "keeper",
                      "it was started with a personality that it cannot leave, and so would every cell",
                      "start it without setarch");
  }
  constexpr int kGetMdwe = 66;  // PR_GET_MDWE
  constexpr int kInherited = 1;
  if (::prctl(kGetMdwe, 0, 0, 0, 0) == kInherited) {
    return fail(ErrorCode::kRefused, "keeper",
                "it was started where no memory may become executable, which would hold for every cell",
                "start it without the service's MemoryDenyWriteExecute");
  }
  return {};
}

// What may fail is what somebody with more rights has settled for this user's session.
void settle_the_rest() {
  constexpr unsigned long kUsualSlack = 50'000;  // nanoseconds
  ::prctl(PR_SET_TIMERSLACK, kUsualSlack, 0, 0, 0);
  ::prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
  constexpr int kProcess = 1;  // IOPRIO_WHO_PROCESS
  (void)::syscall(SYS_ioprio_set, kProcess, 0, 0);
  (void)::syscall(SYS_set_mempolicy, 0, nullptr, 0);
  if (nice_of(0) != 0) (void)::setpriority(PRIO_PROCESS, 0, 0);
  if (const auto adjusted = sys::open_file("/proc/self/oom_score_adj", O_WRONLY))
    (void)!::write(adjusted->get(), "0", 1);
}

Status differs(const std::string& what) {
  return fail(ErrorCode::kRefused, "keeper", fmt::format("the other end has {} than cells from here", what));
}

// In the order of their numbers.
constexpr std::array<const char*, RLIM_NLIMITS> kLimits = {"cpu time",
                                                           "file size",
                                                           "data",
                                                           "stack",
                                                           "core files",
                                                           "resident memory",
                                                           "processes",
                                                           "open files",
                                                           "locked memory",
                                                           "address space",
                                                           "locks",
                                                           "signals",
                                                           "message queues",
                                                           "priority by nice",
                                                           "real-time priority",
                                                           "real-time cpu time"};

}  // namespace

Status begin_afresh() {
  CLOCHE_TRY(lay_memory_out_as_usual());
  CLOCHE_TRY(use_the_usual_scheduler());
  take_every_cpu();
  settle_the_rest();
  return {};
}

Status same_means(const Peer& asker) {
  const auto theirs = cpus_of(asker.pid());
  if (!theirs || cpus_of(0) != theirs) return differs("other cpus");
  const auto nice = nice_of(asker.pid());
  if (!nice || *nice < nice_of(0).value_or(0)) return differs("a better nice value");
  for (std::size_t i = 0; i < kLimits.size(); ++i) {
    const auto resource = static_cast<__rlimit_resource>(i);
    if (resource == RLIMIT_NOFILE) continue;  // a keeper with a few is of use, and says how many it needs
    rlimit own{};
    rlimit other{};
    // The others get their values from the policy, as far as the hard limit lets them.
    const bool stays = resource == RLIMIT_STACK;
    if (::prlimit(0, resource, nullptr, &own) != 0) return differs("other limits");
    if (own.rlim_max == RLIM_INFINITY && !stays) continue;  // nobody has more
    if (::prlimit(asker.pid(), resource, nullptr, &other) != 0) return differs("other limits");
    if (own.rlim_max < other.rlim_max || (stays && own.rlim_cur != other.rlim_cur)) {
      return differs(fmt::format("another limit on {}", kLimits.at(i)));
    }
  }
  if (!asker.lives()) return fail(ErrorCode::kRefused, "keeper", "whoever was at the other end is gone");
  return {};
}

}  // namespace cloche::keeper
