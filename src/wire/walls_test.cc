#include "wire/walls.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cloche::wire {
namespace {

// What is said of a child that has done this to itself.
template <typename Action>
bool same_after(Action action) {
  int ready[2];
  EXPECT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (!action() || ::write(ready[1], "x", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  ::close(ready[1]);
  char byte = 0;
  EXPECT_EQ(::read(ready[0], &byte, 1), 1) << "the child could not prepare itself";
  ::close(ready[0]);
  const bool same = same_walls(static_cast<std::uint32_t>(child));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  return same;
}

TEST(Walls, OfOurLikeAreTheSame) {
  EXPECT_TRUE(same_after([] { return true; }));
  EXPECT_TRUE(same_after([] { return ::prctl(PR_SET_DUMPABLE, 0) == 0; }));
}

TEST(Walls, OfTheConfinedAreOthers) {
  EXPECT_FALSE(same_after([] { return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0; }));
  if (::geteuid() != 0) GTEST_SKIP() << "fact: not root, so no namespace can be made alone";
  EXPECT_FALSE(same_after([] { return ::unshare(CLONE_NEWUSER) == 0; }));
  EXPECT_FALSE(same_after([] { return ::unshare(CLONE_NEWNS) == 0; }));
  EXPECT_FALSE(same_after([] { return ::setegid(61000) == 0; }));
  EXPECT_FALSE(same_after([] { return ::prctl(PR_CAPBSET_DROP, 25) == 0; }));
}

TEST(Walls, OfNobodyAreOthers) {
  EXPECT_FALSE(same_walls(0));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(same_walls(static_cast<std::uint32_t>(child)));
}

TEST(Walls, LinesAreFoundByTheirWholeName) {
  walls::Content status;
  constexpr char kText[] = "Name:\tSeccomp:\nSeccomp_filters:\t3\nSeccomp:\t2\nNSpid:\t7\t1\n";
  for (std::size_t i = 0; i + 1 < sizeof kText; ++i) status.text[i] = kText[i];
  status.size = sizeof kText - 1;
  ASSERT_NE(status.line("Seccomp"), nullptr);
  EXPECT_EQ(status.line("Seccomp")[1], '2');
  EXPECT_EQ(status.line("Seccomp_filters")[1], '3');
  EXPECT_EQ(status.line("Groups"), nullptr);
  EXPECT_EQ(walls::depth(status), 2);
}

}  // namespace
}  // namespace cloche::wire
