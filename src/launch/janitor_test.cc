// What is left when an engine dies by SIGKILL, and that the janitor takes it away.
#include "launch/janitor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "base/units.h"
#include "launch/cell.h"
#include "launch/cgroup.h"
#include "sys/channel.h"
#include "sys/file.h"
#include "sys/left_copy.h"
#include "wire/wire.h"

namespace cloche {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInit = CLOCHE_BINARY_DIR "/cloche-init";

class JanitorTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::access(kInit, X_OK) != 0) GTEST_SKIP() << "fact: cloche-init is not built";
    std::string name = (fs::temp_directory_path() / "cloche-janitor-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override {
    std::error_code ignored;
    if (!root_.empty()) fs::remove_all(root_, ignored);
  }

  // Runs the body in a process of its own until it says that it is ready, then kills it as nobody can prepare for.
  static void kill_when_ready(const std::function<bool()>& body) {
    auto pipe = sys::make_pipe();
    ASSERT_TRUE(pipe);
    const pid_t engine = ::fork();
    ASSERT_GE(engine, 0);
    if (engine == 0) {
      const char answer = body() ? '+' : '-';
      (void)!::write(pipe->write.get(), &answer, 1);
      ::alarm(60);
      for (;;) ::pause();
    }
    pipe->write.reset();
    char answer = 0;
    const ssize_t n = ::read(pipe->read.get(), &answer, 1);
    ASSERT_EQ(::kill(engine, SIGKILL), 0);
    ASSERT_EQ(::waitpid(engine, nullptr, 0), engine);
    ASSERT_EQ(n, 1);
    ASSERT_EQ(answer, '+') << "the helper could not prepare";
  }

  static bool vanishes(const std::string& path) {
    const auto until = Clock::now() + std::chrono::seconds(20);
    while (fs::exists(path)) {
      if (Clock::now() > until) return false;
      std::this_thread::yield();
    }
    return true;
  }

  std::string root_;
};

TEST_F(JanitorTest, K7_AWorkDirectoryVanishesAfterTheEngineWasKilled) {
  const std::string work = root_ + "/work";
  kill_when_ready([&] {
    static Janitor janitor(kInit);
    static WorkDirectory directory;
    auto made = WorkDirectory::make(work, janitor);
    if (!made) return false;
    directory = std::move(*made);
    std::error_code error;
    fs::create_directories(work + "/a/b", error);
    fs::create_directory_symlink("/etc", work + "/a/etc", error);
    return !error && ::chmod((work + "/a/b").c_str(), 0) == 0;
  });
  EXPECT_TRUE(vanishes(work));
  EXPECT_TRUE(fs::exists("/etc/passwd"));
  EXPECT_TRUE(fs::exists(root_)) << "more went than was asked for";
}

TEST_F(JanitorTest, K7_ACgroupAndWhoIsInItVanishAfterTheEngineWasKilled) {
  const std::string controller = "/sys/fs/cgroup/pids";
  if (::access((controller + "/cgroup.clone_children").c_str(), F_OK) != 0 ||
      ::access((controller + "/cgroup.procs").c_str(), W_OK) != 0) {
    GTEST_SKIP() << "fact: no writable cgroup v1 controller 'pids'";
  }
  const std::string own = controller + "/cloche-janitor-" + std::to_string(::getpid());
  ASSERT_EQ(::mkdir(own.c_str(), 0755), 0);
  kill_when_ready([&] {
    static Janitor janitor(kInit);
    static CgroupLeaf leaf;
    CgroupFacts facts;
    facts.version = CgroupFacts::Version::kV1;
    facts.parent[static_cast<std::size_t>(Controller::kPids)] = own + "/cloche";
    auto made = CgroupLeaf::make(facts, "run", {{Controller::kPids, "pids.max", "9", Guarantee::kPids, true}}, janitor);
    if (!made) return false;
    leaf = std::move(*made);
    // Somebody who survives the engine, as a guest of tier 0 that set its parent-death signal to nothing would.
    const pid_t member = ::fork();
    if (member == 0) {
      ::close_range(3, ~0u, 0);  // the engine's end of the janitor's socket among them
      ::alarm(60);               // should the janitor fail, the machine is not left with it
      for (;;) ::pause();
    }
    const std::string file = *leaf.directory(Controller::kPids) + "/cgroup.procs";
    return member > 0 && sys::write_file(file, std::to_string(member)).has_value();
  });
  // The kernel refuses this while anything lies below.
  const auto until = Clock::now() + std::chrono::seconds(20);
  int removed = -1;
  while ((removed = ::rmdir(own.c_str())) != 0 && Clock::now() < until) std::this_thread::yield();
  EXPECT_EQ(removed, 0) << "the run's group is still there";
}

TEST_F(JanitorTest, OneThatWasKilledHoldsNobodyUpAndIsReplaced) {
  const auto start = Clock::now();
  const std::string before = root_ + "/before";
  const std::string kept = root_ + "/kept";
  kill_when_ready([&] {
    Janitor& janitor = *new Janitor(kInit);  // until this process is killed
    if (!fs::create_directory(before) || !janitor.watch(Janitor::Kind::kDirectory, {before})) return false;
    std::ifstream children("/proc/self/task/" + std::to_string(::getpid()) + "/children");
    pid_t pid = -1;
    if (!(children >> pid) || pid <= 1 || ::kill(pid, SIGKILL) != 0) return false;
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | __WALL) != 0) return false;
    // More than its socket takes.
    for (int i = 0; i < 1000; ++i) janitor.forget({root_});
    if (!fs::create_directory(kept) || !janitor.watch(Janitor::Kind::kDirectory, {kept})) return false;
    return true;
  });
  EXPECT_TRUE(vanishes(kept));
  EXPECT_TRUE(vanishes(before)) << "the one that was killed took what it knew along";
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(15));
}

TEST_F(JanitorTest, OneThatWaitsForSomebodyElsesRunOutlivesTheEngine) {
  const std::string controller = "/sys/fs/cgroup/pids";
  if (::access((controller + "/cgroup.clone_children").c_str(), F_OK) != 0 ||
      ::access((controller + "/cgroup.procs").c_str(), W_OK) != 0) {
    GTEST_SKIP() << "fact: no writable cgroup v1 controller 'pids'";
  }
  const std::string group = controller + "/cloche-lent-" + std::to_string(::getpid());
  pid_t member = -1;
  {
    Janitor janitor(kInit);
    ASSERT_TRUE(janitor.watch(Janitor::Kind::kCgroup, {group}));
    ASSERT_EQ(::mkdir(group.c_str(), 0755), 0);
    member = ::fork();
    if (member == 0) {
      ::close_range(3, ~0u, 0);
      ::alarm(60);
      for (;;) ::pause();
    }
    ASSERT_GT(member, 1);
    ASSERT_TRUE(sys::write_file(group + "/cgroup.procs", std::to_string(member)));
    janitor.lend({group});
  }
  ASSERT_TRUE(fs::exists(group)) << "a run that goes on lost its group";
  ASSERT_EQ(::kill(member, SIGKILL), 0);
  ASSERT_EQ(::waitpid(member, nullptr, 0), member);
  EXPECT_TRUE(vanishes(group)) << "the janitor did not live to see the end of the run";
  (void)::rmdir(group.c_str());
  // Nobody waited for it; it has nothing more to do.
  while (::waitpid(-1, nullptr, __WALL) > 0) {
  }
}

TEST_F(JanitorTest, WhatWasForgottenIsLeftAlone) {
  const std::string kept = root_ + "/kept";
  const std::string gone = root_ + "/gone";
  kill_when_ready([&] {
    static Janitor janitor(kInit);
    if (!janitor.watch(Janitor::Kind::kDirectory, {kept, gone})) return false;
    std::error_code error;
    fs::create_directory(kept, error);
    fs::create_directory(gone, error);
    janitor.forget({kept});
    return !error;
  });
  EXPECT_TRUE(vanishes(gone));
  EXPECT_TRUE(fs::exists(kept));
}

// Beside the target of a copy others may be able to write: they put something else at its path.
TEST_F(JanitorTest, K7_OfACopyOnlyTheDirectoryThatTheEngineMadeIsRemoved) {
  const auto precious = [&](const std::string& path) {
    fs::create_directories(path + "/it");
    std::ofstream(path + "/it/precious") << "x";
    return ::chmod(path.c_str(), 0700) == 0;
  };
  const std::string kept = root_ + "/.cloche-get-1-0";
  const std::string swapped = root_ + "/.cloche-get-1-1";
  const std::string untold = root_ + "/.cloche-get-1-2";
  const std::string empty = root_ + "/.cloche-get-1-3";
  kill_when_ready([&] {
    static Janitor janitor(kInit);
    for (const std::string& path : {kept, swapped, untold, empty}) {
      if (!janitor.watch(Janitor::Kind::kCopy, {path}) || ::mkdir(path.c_str(), 0700) != 0) return false;
      const Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      const auto id = sys::directory_id(folder.get());
      if (path != untold && path != empty && !(id && janitor.identify(path, *id))) return false;
    }
    fs::rename(swapped, root_ + "/away");
    return precious(kept) && precious(swapped) && precious(untold);
  });
  EXPECT_TRUE(vanishes(kept));
  EXPECT_TRUE(vanishes(empty));
  // Its list is done with in one go, but nobody says when: the last of it is the first that would be seen to go.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(fs::exists(swapped + "/it/precious")) << "another directory at its path was removed";
  EXPECT_TRUE(fs::exists(untold + "/it/precious")) << "it was not known to be the engine's";
}

TEST_F(JanitorTest, K7_OneThatReplacesAKilledOneKnowsWhichDirectoryACopyLiesIn) {
  const std::string path = root_ + "/.cloche-get-1-0";
  kill_when_ready([&] {
    Janitor& janitor = *new Janitor(kInit);  // until this process is killed
    if (!janitor.watch(Janitor::Kind::kCopy, {path}) || ::mkdir(path.c_str(), 0700) != 0) return false;
    const Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto id = sys::directory_id(folder.get());
    if (!id || !janitor.identify(path, *id)) return false;
    fs::create_directories(path + "/it/half");
    siginfo_t info{};
    return ::syscall(SYS_pidfd_send_signal, janitor.pidfd(), SIGKILL, nullptr, 0) == 0 &&
           ::waitid(P_PIDFD, static_cast<id_t>(janitor.pidfd()), &info, WEXITED | WNOWAIT | __WALL) == 0 &&
           janitor.revive().has_value();
  });
  EXPECT_TRUE(vanishes(path));
}

TEST_F(JanitorTest, K7_WhatAKilledOneCouldNotTakeOverIsLeftToTheNext) {
  const std::string path = root_ + "/left";
  {
    Janitor janitor(kInit);
    ASSERT_TRUE(janitor.watch(Janitor::Kind::kDirectory, {path}));
    ASSERT_EQ(::mkdir(path.c_str(), 0755), 0);
    ASSERT_EQ(::syscall(SYS_pidfd_send_signal, janitor.pidfd(), SIGKILL, nullptr, 0), 0);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PIDFD, static_cast<id_t>(janitor.pidfd()), &info, WEXITED | WNOWAIT | __WALL), 0);
    EXPECT_FALSE(janitor.hand_over({path})) << "nobody was there to take it";
    EXPECT_TRUE(janitor.revive());
    EXPECT_EQ(janitor.births(), 2u);
  }
  EXPECT_TRUE(vanishes(path));
}

TEST_F(JanitorTest, K7_ThousandsOfRecordsAtOnceAreAllKept) {
  // As many directories as a thousand runs have; a record that is lost is a directory that stays.
  constexpr int kRecords = 4'000;
  kill_when_ready([&] {
    static Janitor janitor(kInit);
    for (int i = 0; i < kRecords; ++i) {
      const std::string path = root_ + "/d" + std::to_string(i);
      if (!janitor.watch(Janitor::Kind::kDirectory, {path}) || ::mkdir(path.c_str(), 0755) != 0) return false;
    }
    return true;
  });
  EXPECT_TRUE(vanishes(root_ + "/d0"));
  EXPECT_TRUE(vanishes(root_ + "/d" + std::to_string(kRecords - 1)));
  EXPECT_TRUE(fs::is_empty(root_));
}

TEST_F(JanitorTest, TheJanitorEndsWithItsOwnerAndIsReaped) {
  {
    Janitor janitor(kInit);
    ASSERT_TRUE(janitor.watch(Janitor::Kind::kDirectory, {root_ + "/never-made"}));
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG | __WALL), -1) << "a process of the janitor's is left";
}

TEST_F(JanitorTest, K7_NobodyWhoStillLivesMakesTheWorkDirectoryAnew) {
  const std::string controller = "/sys/fs/cgroup/pids";
  if (::access((controller + "/cgroup.clone_children").c_str(), F_OK) != 0 ||
      ::access((controller + "/cgroup.procs").c_str(), W_OK) != 0) {
    GTEST_SKIP() << "fact: no writable cgroup v1 controller 'pids'";
  }
  const std::string own = controller + "/cloche-janitor-" + std::to_string(::getpid());
  const std::string work = root_ + "/work";
  ASSERT_EQ(::mkdir(own.c_str(), 0755), 0);
  kill_when_ready([&] {
    static Janitor janitor(kInit);
    // The directory is on the list before the group, as it is in a run.
    if (!janitor.watch(Janitor::Kind::kDirectory, {work}) || !janitor.watch(Janitor::Kind::kCgroup, {own}))
      return false;
    if (::mkdir(work.c_str(), 0755) != 0) return false;
    for (int i = 0; i < 4; ++i) {
      const pid_t member = ::fork();
      if (member == 0) {
        ::close_range(3, ~0u, 0);
        ::alarm(60);
        for (;;) ::mkdir(work.c_str(), 0755);
      }
      if (member < 0 || !sys::write_file(own + "/cgroup.procs", std::to_string(member))) return false;
    }
    return true;
  });
  // The group goes last for whoever removes the directory first, and then the directory is back.
  EXPECT_TRUE(vanishes(own));
  EXPECT_TRUE(vanishes(work));
}

TEST_F(JanitorTest, AListThatIsFullRefusesAndTakesAgainWhatWasForgotten) {
  Janitor janitor(kInit);
  std::vector<std::string> paths;
  for (int i = 0; i < wire::kMaxWatched; ++i) {
    paths.push_back("/nonexistent/" + std::to_string(i));
    ASSERT_TRUE(janitor.watch(Janitor::Kind::kDirectory, {paths.back()})) << i;
  }
  const Status full = janitor.watch(Janitor::Kind::kDirectory, {"/nonexistent/more"});
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::kRefused);
  EXPECT_NE(full.error().message.find("too many"), std::string::npos);
  janitor.forget({paths.back()});
  EXPECT_TRUE(janitor.watch(Janitor::Kind::kDirectory, {"/nonexistent/more"}));
}

TEST_F(JanitorTest, APathThatItCouldNotKeepIsRefusedAndCountsForNothing) {
  Janitor janitor(kInit);
  std::string longest;
  while (longest.size() < wire::kMaxWatchedPath) longest += "/nonexistent";
  longest.resize(wire::kMaxWatchedPath - 1);
  for (int i = 0; i < wire::kMaxWatched + 1; ++i) {
    const Status refused = janitor.watch(Janitor::Kind::kDirectory, {longest + "p"});
    ASSERT_FALSE(refused);
    ASSERT_EQ(refused.error().code, ErrorCode::kRefused);
    ASSERT_NE(refused.error().message.find("too long"), std::string::npos) << i << ": " << refused.error().text();
  }
  EXPECT_TRUE(janitor.watch(Janitor::Kind::kDirectory, {longest}));
  // More than one message holds would be cut by the kernel.
  EXPECT_FALSE(janitor.watch(Janitor::Kind::kDirectory, std::vector<std::string>(20, longest)));
}

TEST_F(JanitorTest, K7_TheLongestPathIsKept) {
  std::string path = root_;
  while (path.size() < wire::kMaxWatchedPath - 120) {
    path += "/" + std::string(100, 'p');
    ASSERT_EQ(::mkdir(path.c_str(), 0755), 0);
  }
  path += "/" + std::string(wire::kMaxWatchedPath - 2 - path.size(), 'q');
  ASSERT_EQ(path.size(), wire::kMaxWatchedPath - 1u);
  kill_when_ready([&] {
    static Janitor janitor(kInit);
    return janitor.watch(Janitor::Kind::kDirectory, {path}) && ::mkdir(path.c_str(), 0755) == 0;
  });
  EXPECT_TRUE(vanishes(path));
}

TEST_F(JanitorTest, AMissingProgramIsAnErrorBeforeAnythingIsMade) {
  Janitor janitor("/nonexistent/cloche-init");
  EXPECT_FALSE(janitor.watch(Janitor::Kind::kDirectory, {root_ + "/x"}));
}

}  // namespace
}  // namespace cloche
