// One supervising thread serves a thousand runs at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <filesystem>

#include "engine/runtime_support.h"

namespace cloche {
namespace {

using support::eventually;
using support::left_behind;
using support::no_children;
using testing::IsEmpty;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kRuns = 200;
#else
constexpr std::size_t kRuns = 1'000;
#endif
constexpr std::size_t kDescriptors = 10'000;

std::size_t threads() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

TEST(RuntimeLoad, N11_OneThreadServesAThousandRunsAtOnce) {
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_max < kDescriptors) {
    GTEST_SKIP() << "fact: RLIMIT_NOFILE allows " << files.rlim_max << " descriptors, less than " << kDescriptors;
  }
  const rlimit before = files;
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  auto runtime = support::runtime();
  ASSERT_NE(runtime, nullptr);
  if (const std::string fact = support::missing_fact(*runtime); !fact.empty()) GTEST_SKIP() << "fact: " << fact;
  auto small = support::builder().limit("memory", "16M").limit("pids", "4").limit("wall", "110s").build();
  ASSERT_TRUE(small) << small.error();

  const auto patience = std::chrono::seconds(60);
  std::atomic<std::size_t> up{0};
  std::vector<RunHandle> handles;
  std::set<std::string> ids;
  for (std::size_t i = 0; i < kRuns; ++i) {
    handles.push_back(runtime->start(*small, {.argv = {"/bin/sh", "-c", "echo up; exec sleep 300"},
                                              .cancellable = true,
                                              .on_stdout = [&up](std::string_view) { ++up; }}));
    ids.insert(handles.back().id());
  }
  EXPECT_EQ(ids.size(), kRuns);
  const auto failed = [&] {
    return std::ranges::find_if(handles, [](const RunHandle& handle) { return handle.done(); });
  };
  EXPECT_TRUE(eventually([&] { return up == kRuns || failed() != handles.end(); }, patience)) << up << " are up";
  if (const auto first = failed(); first != handles.end()) {
    const RunResult result = first->wait();
    ADD_FAILURE() << "with " << up << " up, one ended: " << result.outcome << ": " << result.message << "; "
                  << result.hint;
  }
  EXPECT_EQ(runtime->active(), kRuns);
  EXPECT_LE(threads(), 4u) << "a run must not cost a thread";

  for (const RunHandle& handle : handles) handle.cancel();
  ASSERT_TRUE(eventually([&] { return runtime->active() == 0; }, patience)) << runtime->active() << " still run";
  // The last one is counted out a moment before its handle hears of it.
  std::size_t cancelled = 0;
  for (const RunHandle& handle : handles) {
    if (handle.wait().outcome == "cancelled") ++cancelled;
  }
  EXPECT_EQ(cancelled, kRuns);
  runtime.reset();
  EXPECT_TRUE(no_children());
  EXPECT_THAT(left_behind(ids), IsEmpty());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace cloche
