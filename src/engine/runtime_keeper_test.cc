// A runtime with a keeper of its own: cells at hand are used once, and only while the host is what they were made from.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "engine/runtime_support.h"

namespace cloche {
namespace {

namespace fs = std::filesystem;
using support::eventually;

class RuntimeKeeper : public testing::Test {
 protected:
  void SetUp() override {
    if (::access(support::kInit, X_OK) != 0) GTEST_SKIP() << "fact: cloche-init is not built, or out of reach";
    RuntimeOptions options;
    options.init_path = support::kInit;
    options.keeper = true;
    auto made = Runtime::create(options);
    ASSERT_TRUE(made) << made.error();
    runtime_ = std::move(*made);
    if (const std::string missing = support::missing_fact(*runtime_); !missing.empty()) {
      GTEST_SKIP() << "fact: " << missing;
    }
    dir_ = fs::temp_directory_path() / ("cloche-runtime-keeper-" + std::to_string(::getpid()));
    fs::create_directories(dir_);
    fs::permissions(dir_, fs::perms(0755));
  }
  void TearDown() override { fs::remove_all(dir_); }

  // Every step of such a cell was done before the run began.
  static bool was_parked(const RunResult& result) {
    return result.report.find(R"("take")") != std::string::npos &&
           result.report.find(R"("mounts")") == std::string::npos;
  }

  RunResult sh(const PolicyHandle& policy, const std::string& script) {
    return runtime_->run(policy, {.argv = {"/bin/sh", "-c", script}});
  }

  // Runs until the policy's cells stand ready, and one more may be at hand.
  void warm_up(const PolicyHandle& policy) {
    ASSERT_TRUE(eventually([&] { return was_parked(sh(policy, "true")); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }

  static std::vector<pid_t> children_of(pid_t parent) {
    const std::string number = std::to_string(parent);
    std::ifstream children("/proc/" + number + "/task/" + number + "/children");
    std::vector<pid_t> out;
    for (pid_t pid; children >> pid;) out.push_back(pid);
    return out;
  }

  // This test's own keeper, a child of this process.
  static pid_t keeper() {
    for (const pid_t pid : children_of(::getpid())) {
      std::ifstream comm("/proc/" + std::to_string(pid) + "/comm");
      std::string name;
      if (std::getline(comm, name) && name == "cloche-keeper") return pid;
    }
    return -1;
  }

  // Gone, or waiting to be reaped by whoever got it.
  static bool has_ended(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    if (!std::getline(file, text)) return true;
    return text.compare(text.rfind(')') + 1, 2, " Z") == 0;
  }

  // The one of them that is no cell.
  static pid_t janitor_of(const std::set<pid_t>& children) {
    for (const pid_t pid : children) {
      std::ifstream comm("/proc/" + std::to_string(pid) + "/comm");
      std::string name;
      if (std::getline(comm, name) && name == "cloche-janitor") return pid;
    }
    return -1;
  }

  std::unique_ptr<Runtime> runtime_;
  fs::path dir_;
};

TEST_F(RuntimeKeeper, EachCellIsUsedOnce) {
  const PolicyHandle policy = support::policy();
  warm_up(policy);
  int parked = 0;
  for (int i = 0; i < 20; ++i) {
    const RunResult result = sh(policy, "cat /tmp/mark 2>/dev/null; echo " + std::to_string(i) + " | tee /tmp/mark");
    EXPECT_EQ(result.exit_code, 0) << result.message;
    EXPECT_EQ(result.out, std::to_string(i) + "\n");
    parked += was_parked(result) ? 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_GT(parked, 10);
}

TEST_F(RuntimeKeeper, InputOutputAndCodesAreThoseOfTheRun) {
  const PolicyHandle policy = support::policy();
  warm_up(policy);
  const RunResult with_input = runtime_->run(policy, {.argv = {"/bin/cat"}, .input = "to be read\n"});
  EXPECT_EQ(with_input.out, "to be read\n");
  const RunResult without = runtime_->run(policy, {.argv = {"/bin/cat"}});
  EXPECT_EQ(without.out, "");
  EXPECT_EQ(without.exit_code, 0);
  const RunResult code = sh(policy, "echo wrong >&2; exit 7");
  EXPECT_EQ(code.exit_code, 7);
  EXPECT_EQ(code.err, "wrong\n");
}

TEST_F(RuntimeKeeper, OneKindServesEveryProgramOfAPolicy) {
  const PolicyHandle policy = support::policy();
  warm_up(policy);
  int parked = 0;
  for (int i = 0; i < 9; ++i) {
    const std::string word = std::to_string(i);
    const std::vector<std::string> commands[] = {
        {"/bin/echo", word}, {"/bin/echo", "-n", word, "\n"}, {"/usr/bin/printf", "%s\n", word}};
    const RunResult result = runtime_->run(policy, {.argv = commands[i % 3]});
    EXPECT_EQ(result.out.substr(0, 1), word);
    EXPECT_NE(result.report.find(commands[i % 3].front()), std::string::npos);
    EXPECT_NE(result.report.find(R"("standing": "held")"), std::string::npos);
    parked += was_parked(result) ? 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_GT(parked, 5);
}

TEST_F(RuntimeKeeper, TheEnvironmentIsThatOfTheRun) {
  auto policy = PolicyBuilder::from_toml(
                    "version = 1\nextends = \"untrusted\"\n"
                    "[limits]\nmode = \"best-effort\"\n[env]\npass = [\"CLOCHE_TEST_WORD\"]\n")
                    .build();
  ASSERT_TRUE(policy) << policy.error();
  for (const char* word : {"one", "two", "two", "three", ""}) {
    ::setenv("CLOCHE_TEST_WORD", word, 1);
    EXPECT_EQ(sh(*policy, "echo $CLOCHE_TEST_WORD").out, std::string(word) + "\n");
  }
  ::unsetenv("CLOCHE_TEST_WORD");
  EXPECT_EQ(sh(*policy, "echo ${CLOCHE_TEST_WORD-none}").out, "none\n");
}

TEST_F(RuntimeKeeper, WhoeverTheGuestLeavesBehindGoesWithIt) {
  const PolicyHandle policy = support::policy();
  warm_up(policy);
  const std::string token = "7" + std::to_string(::getpid());
  // Many, so that their end takes longer than the first look below.
  const RunResult result =
      sh(policy, "for i in $(seq 40); do setsid sleep " + token + " >/dev/null 2>&1 & done; sleep 0.1");
  EXPECT_EQ(result.exit_code, 0) << result.message;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline");
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_EQ(text.str().find(token), std::string::npos) << entry.path();
  }
}

TEST_F(RuntimeKeeper, ReplacedFilesAreSeenAtOnce) {
  const std::string granted = (dir_ / "granted").string();
  std::ofstream(granted) << "old\n";
  auto policy = support::builder().read(granted).build();
  ASSERT_TRUE(policy) << policy.error();
  warm_up(*policy);
  for (int i = 0; i < 5; ++i) {
    const std::string text = "new " + std::to_string(i) + "\n";
    std::ofstream(dir_ / "next") << text;
    fs::rename(dir_ / "next", granted);
    EXPECT_EQ(sh(*policy, "cat " + granted).out, text);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
}

TEST_F(RuntimeKeeper, LinksPlantedSinceAreRefused) {
  const std::string granted = (dir_ / "granted").string();
  const std::string moved = (dir_ / "moved").string();
  std::ofstream(granted) << "text\n";
  auto policy = support::builder().read(granted).build();
  ASSERT_TRUE(policy) << policy.error();
  warm_up(*policy);
  fs::rename(granted, moved);
  fs::create_symlink(moved, granted);  // the same inode, by way of a link
  EXPECT_EQ(sh(*policy, "cat " + granted).outcome, "refused");
}

TEST_F(RuntimeKeeper, MountsOfTheHostThatChangedAreSeenAtOnce) {
  if (::geteuid() != 0) GTEST_SKIP() << "fact: only root can mount on the host";
  runtime_.reset();
  const pid_t child = ::fork();  // with a mount namespace of its own
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto give_up = [](int code) { ::_exit(code); };
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) give_up(10);
    fs::create_directories(dir_ / "sub");
    RuntimeOptions options;
    options.init_path = support::kInit;
    options.keeper = true;
    auto made = Runtime::create(options);
    auto policy = support::builder().read(dir_.string()).build();
    if (!made || !policy) give_up(11);
    runtime_ = std::move(*made);
    warm_up(*policy);
    const std::string mark = (dir_ / "sub/mark").string();
    if (sh(*policy, "test -e " + mark).exit_code == 0) give_up(12);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (::mount("none", (dir_ / "sub").c_str(), "tmpfs", 0, "size=1m,mode=0755") != 0) give_up(13);
    std::ofstream(mark) << "mark\n";
    const bool seen = sh(*policy, "test -e " + mark).exit_code == 0;
    runtime_.reset();
    give_up(seen ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(RuntimeKeeper, ChangedOwnersAreSeenAtOnce) {
  if (::geteuid() != 0) GTEST_SKIP() << "fact: only root can give files away";
  auto policy = support::builder().write(dir_.string()).build();
  ASSERT_TRUE(policy) << policy.error();
  warm_up(*policy);
  constexpr uid_t kSomebody = 1234;
  ASSERT_EQ(::chown(dir_.c_str(), kSomebody, kSomebody), 0);
  // The grant's owner is the guest, whoever that is on the host.
  EXPECT_EQ(sh(*policy, "stat -c %u " + dir_.string()).out, "1000\n");
}

TEST_F(RuntimeKeeper, AForkOfTheHostProgramKeepsNothingAlive) {
  const PolicyHandle policy = support::policy();
  warm_up(policy);
  const auto keepers_cells = [] {
    std::set<pid_t> out;
    const std::string pid = std::to_string(keeper());
    std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
    for (pid_t child; children >> child;) out.insert(child);
    return out;
  };
  const std::set<pid_t> before = keepers_cells();
  const pid_t copy = ::fork();  // of every descriptor
  ASSERT_GE(copy, 0);
  if (copy == 0) {
    ::sleep(60);
    ::_exit(0);
  }
  // Until each cell that stood ready was used.
  int runs = 0;
  const auto none_left = [&] {
    const std::set<pid_t> now = keepers_cells();
    return std::ranges::none_of(before, [&](pid_t pid) { return pid != janitor_of(before) && now.contains(pid); });
  };
  EXPECT_TRUE(eventually([&] { return ++runs > 2000 || sh(policy, "true").exit_code != 0 || none_left(); },
                         std::chrono::seconds(20)));
  EXPECT_TRUE(none_left());
  const auto start = std::chrono::steady_clock::now();
  runtime_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  ::kill(copy, SIGKILL);
  ::waitpid(copy, nullptr, 0);
}

TEST_F(RuntimeKeeper, TheEndOfTheHostProgramIsNoticedThoughAForkOfItLivesOn) {
  runtime_.reset();
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  const pid_t host = ::fork();
  ASSERT_GE(host, 0);
  if (host == 0) {
    RuntimeOptions options;
    options.init_path = support::kInit;
    options.keeper = true;
    auto made = Runtime::create(options);
    if (!made) ::_exit(1);
    runtime_ = std::move(*made);
    const PolicyHandle policy = support::policy();
    warm_up(policy);
    const RunHandle during = runtime_->start(policy, {.argv = {"/bin/sleep", "90"}});
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    pid_t pids[2] = {keeper(), ::fork()};
    if (pids[1] == 0) {
      ::sleep(60);
      ::_exit(0);
    }
    (void)!::write(told[1], pids, sizeof pids);
    during.wait();
    ::_exit(0);
  }
  ::close(told[1]);
  pid_t pids[2] = {-1, -1};
  ASSERT_EQ(::read(told[0], pids, sizeof pids), static_cast<ssize_t>(sizeof pids));
  ::close(told[0]);
  const auto [resident, copy] = pids;
  ASSERT_GT(resident, 1);
  ASSERT_GT(copy, 1);
  // Its cells, of which one runs.
  const std::string number = std::to_string(resident);
  std::ifstream children("/proc/" + number + "/task/" + number + "/children");
  std::vector<pid_t> gone_with_it{resident};
  for (pid_t pid; children >> pid;) gone_with_it.push_back(pid);
  EXPECT_GT(gone_with_it.size(), 1u);
  ASSERT_EQ(::kill(host, SIGKILL), 0);
  ASSERT_EQ(::waitpid(host, nullptr, 0), host);
  for (const pid_t pid : gone_with_it) {
    EXPECT_TRUE(eventually([&] { return has_ended(pid); }, std::chrono::seconds(20))) << pid;
  }
  ::kill(copy, SIGKILL);
}

TEST_F(RuntimeKeeper, RunsGoOnWithoutTheKeeper) {
  const PolicyHandle policy = support::policy();
  warm_up(policy);
  const RunHandle during = runtime_->start(policy, {.argv = {"/bin/sh", "-c", "sleep 0.3; echo done"}});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const pid_t pid = keeper();
  ASSERT_GT(pid, 1);
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  EXPECT_EQ(during.wait().out, "done\n");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(sh(policy, "echo on").out, "on\n");
}

TEST_F(RuntimeKeeper, AGuestThatWasKilledBeforeItsRunServesNone) {
  const PolicyHandle policy = support::policy();
  warm_up(policy);
  const pid_t pid = keeper();
  ASSERT_GT(pid, 1);
  int killed = 0;
  for (const pid_t init : children_of(pid)) {
    for (const pid_t guest : children_of(init)) killed += guest > 1 && ::kill(guest, SIGKILL) == 0 ? 1 : 0;
  }
  ASSERT_GT(killed, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  for (int i = 0; i < 5; ++i) {
    const RunResult result = sh(policy, "echo on");
    EXPECT_EQ(result.out, "on\n") << result.outcome << ": " << result.message;
  }
}

TEST_F(RuntimeKeeper, CellsOfAnInitThatWasReplacedAreNotMadeForEver) {
  runtime_.reset();
  const fs::path source = fs::path(support::kInit).parent_path();
  for (const char* name : {"cloche-init", "cloche-keeper"}) fs::copy_file(source / name, dir_ / name);
  RuntimeOptions options;
  options.init_path = (dir_ / "cloche-init").string();
  options.keeper = true;
  auto made = Runtime::create(options);
  ASSERT_TRUE(made) << made.error();
  runtime_ = std::move(*made);
  const PolicyHandle policy = support::policy();
  warm_up(policy);
  fs::copy_file(source / "cloche-init", dir_ / "next");
  fs::rename(dir_ / "next", dir_ / "cloche-init");
  bool parked = true;
  for (int i = 0; i < 20 && parked; ++i) {
    const RunResult result = sh(policy, "echo on");
    EXPECT_EQ(result.out, "on\n") << result.outcome << ": " << result.message;
    parked = was_parked(result);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_FALSE(parked);
}

TEST_F(RuntimeKeeper, CellsAtHandLeaveDescriptorsForTheRest) {
  runtime_.reset();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{256, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  RuntimeOptions options;
  options.init_path = support::kInit;
  options.keeper = true;
  options.keeper_parked = 16;
  auto made = Runtime::create(options);
  ASSERT_TRUE(made) << made.error();
  runtime_ = std::move(*made);
  for (const char* memory : {"64M", "65M", "66M"}) {
    const PolicyHandle policy = *support::builder().limit("memory", memory).build();
    for (int round = 0; round < 4; ++round) {
      std::vector<RunHandle> runs;
      for (int i = 0; i < 6; ++i) runs.push_back(runtime_->start(policy, {.argv = {"/bin/echo", "on"}}));
      for (const RunHandle& run : runs) {
        const RunResult result = run.wait();
        EXPECT_EQ(result.out, "on\n") << result.outcome << ": " << result.message;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  const auto open = std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  EXPECT_LT(open, 128);
  runtime_.reset();
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(RuntimeKeeper, ManyAtOnceOfSeveralPolicies) {
  std::vector<PolicyHandle> policies;
  for (const char* memory : {"64M", "65M", "66M", "67M", "68M", "69M"}) {
    policies.push_back(*support::builder().limit("memory", memory).build());
  }
  std::vector<RunHandle> runs;
  for (int i = 0; i < 120; ++i) {
    runs.push_back(runtime_->start(policies[static_cast<std::size_t>(i) % policies.size()],
                                   {.argv = {"/bin/echo", std::to_string(i)}}));
  }
  for (int i = 0; i < 120; ++i) {
    const RunResult result = runs[static_cast<std::size_t>(i)].wait();
    EXPECT_EQ(result.out, std::to_string(i) + "\n") << result.outcome << ": " << result.message;
  }
}

}  // namespace
}  // namespace cloche
