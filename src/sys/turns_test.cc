#include "sys/turns.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace cloche::sys {
namespace {

using namespace std::chrono_literals;

// By the kernel's word, of this process.
std::chrono::nanoseconds turn() {
  unsigned char attributes[56] = {};
  constexpr std::size_t kRuntime = 24;  // where sched_attr has it
  if (::syscall(SYS_sched_getattr, 0, attributes, sizeof attributes, 0) != 0) return {};
  std::uint64_t out = 0;
  std::memcpy(&out, attributes + kRuntime, sizeof out);
  return std::chrono::nanoseconds(out);
}

// In a process of its own: this one keeps the turns that it has.
template <typename Action>
bool in_child(Action action) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(action() ? 0 : 1);
  int status = 1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

TEST(Turns, AreAsLongAsAskedForAndChildrenHaveTheUsualOnes) {
  const auto usual = turn();
  const bool changes = in_child([] {
    take_turns_of(4ms);
    return turn() == 4ms;
  });
  if (!changes) GTEST_SKIP() << "fact: before Linux 6.12 all turns are alike";
  EXPECT_TRUE(in_child([&] {
    take_turns_of(4ms);
    return in_child([&] { return turn() == usual; });
  }));
  EXPECT_TRUE(in_child([&] {
    take_turns_of(4ms);
    take_turns_of(0ms);
    return turn() == usual;
  }));
}

}  // namespace
}  // namespace cloche::sys
