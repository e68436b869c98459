#include "keeper/means.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "keeper/peer_support.h"

namespace cloche::keeper {
namespace {

// What the check says of a child that has done this to itself, when we have done that to ourselves meanwhile.
template <typename Action, typename Ours>
bool as_good(Action action, Ours ours) {
  bool out = false;
  with_child(action, [&](const Fd& socket, auto /*end*/) {
    const auto peer = Peer::of(socket);
    out = ours() && peer && same_means(*peer).has_value();
  });
  return out;
}

bool nothing() { return true; }

bool use_one_cpu() {
  cpu_set_t all;
  CPU_ZERO(&all);
  if (::sched_getaffinity(0, sizeof all, &all) != 0) return false;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &all)) continue;
    CPU_ZERO(&all);
    CPU_SET(cpu, &all);
    return ::sched_setaffinity(0, sizeof all, &all) == 0;
  }
  return false;
}

bool lower(__rlimit_resource resource, rlim_t to) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return false;
  limit.rlim_cur = limit.rlim_max = std::min(limit.rlim_max, to);
  return ::setrlimit(resource, &limit) == 0;
}

TEST(Means, OfOurLikeAreOurs) { EXPECT_TRUE(as_good(nothing, nothing)); }

TEST(Means, OtherCpusAreOthers) {
  cpu_set_t all;
  CPU_ZERO(&all);
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "fact: one cpu";
  EXPECT_FALSE(as_good(use_one_cpu, nothing));
  EXPECT_TRUE(alone([] { return !as_good(nothing, use_one_cpu); }));
}

TEST(Means, NobodyGetsLessThanByItself) {
  constexpr rlim_t kFew = 7;
  EXPECT_TRUE(as_good([] { return ::setpriority(PRIO_PROCESS, 0, 15) == 0; }, nothing));
  EXPECT_TRUE(as_good([] { return lower(RLIMIT_MSGQUEUE, kFew); }, nothing));
  EXPECT_TRUE(alone([] { return !as_good(nothing, [] { return ::setpriority(PRIO_PROCESS, 0, 19) == 0; }); }));
  EXPECT_TRUE(alone([] { return !as_good(nothing, [] { return lower(RLIMIT_MSGQUEUE, kFew); }); }));
  EXPECT_FALSE(as_good([] { return lower(RLIMIT_STACK, 1 << 20); }, nothing));  // no policy sets it
}

TEST(Means, OfWhoeverStartedUsAreLeft) {
  EXPECT_TRUE(alone([] {
    cpu_set_t before;
    cpu_set_t after;
    CPU_ZERO(&before);
    CPU_ZERO(&after);
    constexpr sched_param kNone{};
    constexpr unsigned long kSlack = 4'000'000;
    const bool set = ::sched_getaffinity(0, sizeof before, &before) == 0 && use_one_cpu() &&
                     ::personality(ADDR_NO_RANDOMIZE) != -1 && ::prctl(PR_SET_TIMERSLACK, kSlack) == 0 &&
                     ::sched_setscheduler(0, SCHED_BATCH, &kNone) == 0 && ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0;
    if (!set || !begin_afresh()) return false;
    return ::sched_getaffinity(0, sizeof after, &after) == 0 && CPU_COUNT(&after) >= CPU_COUNT(&before) &&
           ::personality(0xffffffff) == PER_LINUX && ::prctl(PR_GET_TIMERSLACK) < static_cast<int>(kSlack) &&
           ::sched_getscheduler(0) == SCHED_OTHER && ::prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 0;
  }));
}

}  // namespace
}  // namespace cloche::keeper
