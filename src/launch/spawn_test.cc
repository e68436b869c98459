#include "launch/spawn.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>

#include "base/units.h"
#include "sys/file.h"

namespace cloche {
namespace {

using testing::ElementsAre;

constexpr const char* kInit = CLOCHE_BINARY_DIR "/cloche-init";

class Spawn : public testing::Test {
 protected:
  void SetUp() override {
    if (::access(kInit, X_OK) != 0) GTEST_SKIP() << "fact: cloche-init is not built";
  }

  static SpawnSpec holder() {
    SpawnSpec spec;
    spec.argv = {"cloche-init"};
    spec.init_path = kInit;
    return spec;
  }

  // Waits until the child has left our memory, which its executable tells.
  static bool wait_for_exec(pid_t pid) {
    const auto until = Clock::now() + std::chrono::seconds(20);
    while (Clock::now() < until) {
      std::error_code error;
      const auto exe = std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", error);
      if (!error && exe.filename() == "cloche-init") return true;
      ::sched_yield();
    }
    return false;
  }

  static std::set<int> descriptors(pid_t pid) {
    std::set<int> out;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
      out.insert(std::stoi(entry.path().filename().string()));
    }
    return out;
  }

  static bool gone(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }
};

TEST_F(Spawn, N7_TheChildHasTheControlSocketAndNothingElse) {
  // What careless host programs have: descriptors that survive an exec.
  const Fd leak(::open("/dev/null", O_RDONLY));
  const Fd high(::fcntl(leak.get(), F_DUPFD, 200));
  auto child = spawn(holder());
  ASSERT_TRUE(child) << child.error().text();
  ASSERT_TRUE(wait_for_exec(child->pid));
  EXPECT_THAT(descriptors(child->pid), ElementsAre(0, 1, 2, 3));
  for (const int fd : {0, 1, 2}) {
    const std::string path = "/proc/" + std::to_string(child->pid) + "/fd/" + std::to_string(fd);
    EXPECT_TRUE(std::filesystem::read_symlink(path).string().starts_with("socket:")) << fd;
  }
}

TEST_F(Spawn, DeclaredDescriptorsFollowTheControlSocketInOrder) {
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Fd zero(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  SpawnSpec spec = holder();
  spec.keep = {zero.get(), null.get()};
  auto child = spawn(spec);
  ASSERT_TRUE(child) << child.error().text();
  ASSERT_TRUE(wait_for_exec(child->pid));
  EXPECT_THAT(descriptors(child->pid), ElementsAre(0, 1, 2, 3, 4, 5));
  const std::string fd = "/proc/" + std::to_string(child->pid) + "/fd/";
  EXPECT_EQ(std::filesystem::read_symlink(fd + "4"), "/dev/zero");
  EXPECT_EQ(std::filesystem::read_symlink(fd + "5"), "/dev/null");
}

TEST_F(Spawn, TheChildsEnvironmentIsEmpty) {
  auto child = spawn(holder());
  ASSERT_TRUE(child);
  ASSERT_TRUE(wait_for_exec(child->pid));
  auto environment = sys::read_file("/proc/" + std::to_string(child->pid) + "/environ", 1 << 20);
  ASSERT_TRUE(environment);
  EXPECT_EQ(*environment, "");
}

TEST_F(Spawn, TheOwnersEndIsTheChildsEnd) {
  pid_t pid = 0;
  {
    auto child = spawn(holder());
    ASSERT_TRUE(child);
    pid = child->pid;
    EXPECT_FALSE(gone(pid));
  }
  EXPECT_TRUE(gone(pid)) << "alive, or a zombie";
}

TEST_F(Spawn, AMovedOwnerOwnsOneChild) {
  auto first = spawn(holder());
  auto second = spawn(holder());
  ASSERT_TRUE(first && second);
  const pid_t replaced = second->pid;
  const pid_t kept = first->pid;
  *second = std::move(*first);
  EXPECT_TRUE(gone(replaced));
  EXPECT_FALSE(gone(kept));
  second->end();
  EXPECT_TRUE(gone(kept));
  second->end();
}

TEST_F(Spawn, ReapingTellsHowTheChildEndedAndOnlyOnce) {
  auto child = spawn(holder());
  ASSERT_TRUE(child);
  ASSERT_TRUE(wait_for_exec(child->pid));
  auto running = try_reap(*child);
  ASSERT_TRUE(running);
  EXPECT_FALSE(*running);
  ASSERT_EQ(::kill(child->pid, SIGKILL), 0);
  pollfd ended{child->pidfd.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&ended, 1, 20'000), 1);
  auto status = try_reap(*child);
  ASSERT_TRUE(status && *status);
  EXPECT_TRUE(WIFSIGNALED(**status));
  EXPECT_EQ(WTERMSIG(**status), SIGKILL);
  EXPECT_FALSE(child->pidfd.valid());
}

TEST_F(Spawn, AProgramThatCannotBeExecutedSaysSoOnTheSocket) {
  SpawnSpec spec = holder();
  spec.init_path = "/etc/passwd";
  auto child = spawn(spec);
  ASSERT_TRUE(child);
  pollfd ready{child->control.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, 20'000), 1);
  spec.init_path = "/nonexistent/cloche-init";
  EXPECT_FALSE(spawn(spec));
}

TEST_F(Spawn, OurOwnSignalMaskIsAsBefore) {
  sigset_t before;
  sigset_t after;
  sigset_t some;
  sigemptyset(&some);
  sigaddset(&some, SIGUSR2);
  ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &some, &before), 0);
  {
    auto child = spawn(holder());
  }
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, &before, &after), 0);
  EXPECT_EQ(sigismember(&after, SIGUSR2), 1);
  EXPECT_EQ(sigismember(&after, SIGUSR1), sigismember(&before, SIGUSR1));
  EXPECT_EQ(sigismember(&after, SIGCHLD), sigismember(&before, SIGCHLD));
}

// The kernel sets a child's exit signal back to SIGCHLD when it execs, so a host program that waits for just any child
// can be faster than we are.
TEST_F(Spawn, AChildThatTheHostProgramReapedIsNoTrouble) {
  auto child = spawn(holder());
  ASSERT_TRUE(child);
  ASSERT_TRUE(wait_for_exec(child->pid));
  ASSERT_EQ(::kill(child->pid, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child->pid, nullptr, __WALL), child->pid);
  EXPECT_FALSE(try_reap(*child)) << "somebody else has its status";
  child->end();
  EXPECT_FALSE(child->pidfd.valid());
}

TEST(SpawnElsewhere, AChildThatDidNotWaitKeepsItsCpus) {
  SpawnMemory memory;
  ASSERT_EQ(::sched_getaffinity(0, sizeof memory.cpus, &memory.cpus), 0);
  const int all = CPU_COUNT(&memory.cpus);
  if (all < 2) GTEST_SKIP() << "fact: there is one cpu only";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (;;) ::pause();
  }
  const auto cpus_of_child = [child] {
    cpu_set_t now;
    return ::sched_getaffinity(child, sizeof now, &now) == 0 ? CPU_COUNT(&now) : -1;
  };
  move_elsewhere(child, memory);
  EXPECT_EQ(memory.moved, kMoved);
  EXPECT_EQ(cpus_of_child(), all - 1);  // and gives itself the rest
  memory.moved = kNotAwaited;
  move_elsewhere(child, memory);
  EXPECT_EQ(cpus_of_child(), all);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace cloche
