// Workspaces through the library.
#include <fstream>

#include "engine/runtime_support.h"

namespace cloche {
namespace {

namespace fs = std::filesystem;

class RuntimeWorkspace : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "cloche-library-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    fs::create_directory(folder_ / "tree");
    std::ofstream(folder_ / "tree" / "file") << "old\n";
    RuntimeOptions options;
    options.init_path = support::kInit;
    options.state_directory = folder_ / "state";
    auto made = Runtime::create(options);
    ASSERT_TRUE(made) << made.error();
    runtime_ = std::move(*made);
    if (std::string fact = support::missing_fact(*runtime_); !fact.empty()) GTEST_SKIP() << "fact: " << fact;
  }
  void TearDown() override {
    runtime_.reset();
    fs::remove_all(folder_);
  }
  PolicyHandle policy(const std::string& mode = "auto") {
    auto built = support::builder().workspace(folder_ / "tree").set("workspace.mode", mode).build();
    EXPECT_TRUE(built) << built.error();
    return *built;
  }
  std::string content() const {
    std::ifstream file(folder_ / "tree" / "file");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_;
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(RuntimeWorkspace, X6_ChangesAreKeptWithTheRunAndTheTreeStays) {
  for (const char* mode : {"overlay", "copy"}) {
    const RunResult done = runtime_->run(policy(mode), {.argv = {"/bin/sh", "-c", "echo new > file; cat file; pwd"}});
    EXPECT_EQ(done.outcome, "exited") << done.message;
    EXPECT_EQ(done.out, "new\n" + (folder_ / "tree").string() + "\n");
    EXPECT_EQ(content(), "old\n");
    EXPECT_NE(done.report.find("\"modified\": 1"), std::string::npos) << done.report;
    EXPECT_TRUE(fs::exists(folder_ / "state" / "runs" / done.id / "ws" / "0"));
  }
}

TEST_F(RuntimeWorkspace, RunsGoOnBesideEachOther) {
  std::vector<RunHandle> handles;
  for (int i = 0; i < 6; ++i) {
    handles.push_back(runtime_->start(policy(), {.argv = {"/bin/sh", "-c", "echo $$ > file; sleep 0.1"}}));
  }
  EXPECT_TRUE(runtime_->run(support::policy(), {.argv = {"/bin/true"}}).ok());
  for (const RunHandle& handle : handles) EXPECT_TRUE(handle.wait().ok()) << handle.wait().message;
  EXPECT_EQ(content(), "old\n");
}

TEST_F(RuntimeWorkspace, CancelsAndEndsWithTheRuntime) {
  RunHandle cancelled = runtime_->start(policy(), {.argv = {"/bin/sleep", "100"}});
  cancelled.cancel();
  cancelled.cancel();
  EXPECT_EQ(cancelled.wait().outcome, "cancelled");
  RunHandle abandoned = runtime_->start(policy(), {.argv = {"/bin/sleep", "100"}});
  runtime_.reset();
  EXPECT_TRUE(abandoned.done());
  EXPECT_TRUE(support::no_children());
}

TEST_F(RuntimeWorkspace, RunsAreNeverKeptInsideOfAWorkspace) {
  RuntimeOptions options;
  options.init_path = support::kInit;
  options.state_directory = folder_ / "tree" / "state";
  auto made = Runtime::create(options);
  ASSERT_TRUE(made) << made.error();
  const RunResult done = (*made)->run(policy(), {.argv = {"/bin/true"}});
  EXPECT_EQ(done.outcome, "refused") << done.message;
}

TEST_F(RuntimeWorkspace, WhatAnInterruptedApplicationLeftIsEndedFirst) {
  fs::create_directory(folder_ / "tree" / ".cloche-apply");
  fs::permissions(folder_ / "tree" / ".cloche-apply", fs::perms::owner_all);
  const RunResult done = runtime_->run(policy(), {.argv = {"/bin/ls", "-A"}});
  EXPECT_EQ(done.out, "file\n") << done.message;
  EXPECT_FALSE(fs::exists(folder_ / "tree" / ".cloche-apply"));
}

TEST_F(RuntimeWorkspace, WithoutAPlaceForItTheRunIsRefused) {
  std::ofstream(folder_ / "blocked") << "a file";
  RuntimeOptions options;
  options.init_path = support::kInit;
  options.state_directory = folder_ / "blocked";
  auto made = Runtime::create(options);
  ASSERT_TRUE(made) << made.error();
  const RunResult done = (*made)->run(policy(), {.argv = {"/bin/sh", "-c", "echo new > file"}});
  EXPECT_NE(done.exit_code, 0);
  EXPECT_EQ(content(), "old\n");
}

}  // namespace
}  // namespace cloche
