#include "launch/cgroup.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "base/units.h"
#include "launch/spawn.h"
#include "sys/file.h"

namespace cloche {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInit = CLOCHE_BINARY_DIR "/cloche-init";
constexpr const char* kRoot = "/sys/fs/cgroup/";
constexpr Controller kUsed[] = {Controller::kPids, Controller::kMemory, Controller::kCpu, Controller::kCpuAcct};

// A parent of this test's own below each controller of the real version 1 hierarchy.
class CgroupV1 : public testing::Test {
 protected:
  void SetUp() override {
    if (::access(kInit, X_OK) != 0) GTEST_SKIP() << "fact: cloche-init is not built";
    facts_.version = CgroupFacts::Version::kV1;
    for (const Controller controller : kUsed) {
      const std::string root = kRoot + std::string(to_string(controller));
      if (::access((root + "/cgroup.procs").c_str(), W_OK) != 0 ||
          ::access((root + "/cgroup.clone_children").c_str(), F_OK) != 0) {
        GTEST_SKIP() << "fact: no writable cgroup v1 controller '" << to_string(controller) << "'";
      }
      own_.push_back(root + "/cloche-test-" + std::to_string(::getpid()));
      ASSERT_TRUE(::mkdir(own_.back().c_str(), 0755) == 0) << own_.back();
      facts_.parent[static_cast<std::size_t>(controller)] = own_.back() + "/cloche";
    }
  }
  void TearDown() override {
    expect_nothing_left();
    for (const std::string& path : own_) EXPECT_EQ(::rmdir(path.c_str()), 0) << path;
  }

  // The janitor removes them a moment later.
  void expect_nothing_left() const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!is_empty() && std::chrono::steady_clock::now() < end) ::usleep(1'000);
    for (const std::string& path : own_) {
      for (const auto& entry : fs::directory_iterator(path)) {
        EXPECT_FALSE(entry.is_directory()) << entry.path() << " is left";
      }
    }
  }

  bool is_empty() const {
    return std::ranges::none_of(own_, [](const std::string& path) {
      return std::ranges::any_of(fs::directory_iterator(path), [](const auto& entry) { return entry.is_directory(); });
    });
  }

  static std::vector<CgroupSetting> settings() {
    return {{Controller::kPids, "pids.max", "7", Guarantee::kPids, true},
            {Controller::kMemory, "memory.limit_in_bytes", "67108864", Guarantee::kMemory, true},
            {Controller::kMemory, "memory.no-such-file", "1", Guarantee::kMemory, false},
            {Controller::kCpu, "cpu.cfs_quota_us", "50000", Guarantee::kCpuShare, true},
            {Controller::kCpuAcct, "", "", Guarantee::kCpuTime, true}};
  }

  // A process that waits inside the leaf.
  static Result<Spawned> holder_in(const CgroupLeaf& leaf) {
    CLOCHE_TRY_ASSIGN(const CgroupLeaf::Doors doors, leaf.open_doors());
    SpawnSpec spec;
    spec.argv = {"cloche-init"};
    spec.init_path = kInit;
    for (const Fd& tasks : doors.v1_tasks) spec.cgroup_tasks.push_back(tasks.get());
    auto child = spawn(spec);
    // The child enters the groups by itself, before its exec.
    const auto until = Clock::now() + std::chrono::seconds(20);
    while (child && Clock::now() < until) {
      std::error_code error;
      if (fs::read_symlink("/proc/" + std::to_string(child->pid) + "/exe", error).filename() == "cloche-init") break;
      ::sched_yield();
    }
    return child;
  }

  CgroupFacts facts_;
  std::vector<std::string> own_;
  Janitor janitor_{kInit};
};

TEST_F(CgroupV1, P4_LimitsAreReadBackFromTheKernel) {
  auto leaf = CgroupLeaf::make(facts_, "run", settings(), janitor_);
  ASSERT_TRUE(leaf) << leaf.error().text();
  EXPECT_EQ(leaf->directories().size(), 4u);
  EXPECT_EQ(*leaf->read(Controller::kPids, "pids.max"), "7");
  EXPECT_EQ(*leaf->read(Controller::kMemory, "memory.limit_in_bytes"), "67108864");
  EXPECT_EQ(*leaf->read(Controller::kCpu, "cpu.cfs_quota_us"), "50000");
  EXPECT_TRUE(leaf->cpu_us().has_value());
  EXPECT_TRUE(leaf->counts_cpu());
}

TEST_F(CgroupV1, P4_ARequiredLimitThatTheKernelRefusesIsAnErrorAndLeavesNothing) {
  for (const char* value : {"", "-5", "many"}) {
    auto refused =
        CgroupLeaf::make(facts_, "run", {{Controller::kPids, "pids.max", value, Guarantee::kPids, true}}, janitor_);
    if (std::string(value).empty()) continue;  // an empty write reaches no kernel
    EXPECT_FALSE(refused) << value;
  }
}

TEST_F(CgroupV1, ARunsProcessIsInsideKilledAndNothingIsLeft) {
  auto leaf = CgroupLeaf::make(facts_, "run", settings(), janitor_);
  ASSERT_TRUE(leaf) << leaf.error().text();
  auto child = holder_in(*leaf);
  ASSERT_TRUE(child) << child.error().text();
  auto seen = sys::read_file("/proc/" + std::to_string(child->pid) + "/cgroup", 1 << 16);
  ASSERT_TRUE(seen);
  for (const Controller controller : kUsed) {
    const std::string line = ":" + std::string(to_string(controller)) + ":";
    const std::size_t at = seen->find(line);
    ASSERT_NE(at, std::string::npos) << line;
    const std::string group = seen->substr(at + line.size(), seen->find('\n', at) - at - line.size());
    EXPECT_TRUE(leaf->directory(controller)->ends_with(group)) << group;
    EXPECT_NE(group, "/");
  }
  leaf->kill();
  pollfd ended{child->pidfd.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&ended, 1, 20'000), 1) << "the group was killed and the process lives";
  child->end();
  leaf->remove();
  EXPECT_TRUE(leaf->empty());
  expect_nothing_left();
}

TEST_F(CgroupV1, TheOwnersEndIsTheGroupsEndAlsoWithAProcessInside) {
  std::optional<Spawned> child;
  {
    auto leaf = CgroupLeaf::make(facts_, "run", settings(), janitor_);
    ASSERT_TRUE(leaf);
    auto made = holder_in(*leaf);
    ASSERT_TRUE(made);
    child.emplace(std::move(*made));
    CgroupLeaf moved(std::move(*leaf));
    EXPECT_TRUE(leaf->empty());
  }
  expect_nothing_left();
}

TEST_F(CgroupV1, ARunThatEndsLeavesTheOthersGroupsAlone) {
  auto first = CgroupLeaf::make(facts_, "one", settings(), janitor_);
  auto second = CgroupLeaf::make(facts_, "two", settings(), janitor_);
  ASSERT_TRUE(first && second);
  first->remove();
  for (const auto& [controller, path] : second->directories()) EXPECT_TRUE(fs::exists(path)) << path;
  EXPECT_EQ(*second->read(Controller::kPids, "pids.max"), "7");
  second->remove();
  expect_nothing_left();
}

TEST_F(CgroupV1, ANameThatIsTakenIsRefused) {
  auto first = CgroupLeaf::make(facts_, "one", settings(), janitor_);
  ASSERT_TRUE(first);
  EXPECT_FALSE(CgroupLeaf::make(facts_, "one", settings(), janitor_));
}

TEST_F(CgroupV1, AFailedStartLeavesTheOtherRunsGroupAlone) {
  auto first = CgroupLeaf::make(facts_, "one", settings(), janitor_);
  ASSERT_TRUE(first);
  EXPECT_FALSE(CgroupLeaf::make(facts_, "one", settings(), janitor_));
  for (const auto& [controller, path] : first->directories()) EXPECT_TRUE(fs::exists(path)) << path;
}

// Directories that look like version 2 and are none: somebody mounted something over them.
TEST(CgroupLeafV2, C33_AFakeTreeIsRefused) {
  if (::access(kInit, X_OK) != 0) GTEST_SKIP() << "fact: cloche-init is not built";
  std::string name = (fs::temp_directory_path() / "cloche-fake-cgroup-XXXXXX").string();
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  const std::string parent = name + "/cloche";
  fs::create_directories(parent);
  const auto touch = [](const std::string& path) { Fd(::creat(path.c_str(), 0644)); };
  for (const std::string& directory : {name, parent}) touch(directory + "/cgroup.subtree_control");
  CgroupFacts facts;
  facts.version = CgroupFacts::Version::kV2;
  facts.parent[static_cast<std::size_t>(Controller::kPids)] = parent;
  Janitor janitor(kInit);
  auto leaf = CgroupLeaf::make(facts, "run", {{Controller::kPids, "pids.max", "7", Guarantee::kPids, true}}, janitor);
  ASSERT_FALSE(leaf);
  EXPECT_EQ(leaf.error().code, ErrorCode::kRefused) << leaf.error().text();
  EXPECT_EQ(fs::file_size(name + "/cgroup.subtree_control"), 0u);
  fs::remove_all(name);
}

}  // namespace
}  // namespace cloche
