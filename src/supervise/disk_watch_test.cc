#include "supervise/disk_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace cloche {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMega = std::size_t{1} << 20;

class DiskWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/var/tmp/cloche-disk-watch-XXXXXX";  // not on a tmpfs that others fill meanwhile
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    top_ = name;
    plan_.tier = Tier::kProcess;
    plan_.backend = Backend::kNamespace;
    plan_.watched = {top_};
    plan_.limits.disk = Bytes{4 * kMega};
    plan_.limits.inodes = 1000;
  }
  void TearDown() override { fs::remove_all(top_); }

  void write(const std::string& name, std::size_t bytes) const {
    std::ofstream(top_ + "/" + name) << std::string(bytes, 'x') << std::flush;
  }

  // A watch over a guest that has just started.
  DiskWatch started(Clock::time_point now) {
    auto watch = DiskWatch::begin(plan_, cell_, 0);
    EXPECT_TRUE(watch.has_value());
    while (!watch->has_baseline()) watch->advance(std::max(now, watch->next()), cell_);
    watch->start(now);
    return std::move(*watch);
  }

  std::string top_;
  Plan plan_;
  Cell cell_;
};

constexpr Millis kUsualPause{100};

TEST_F(DiskWatchTest, N8_LooksSoonWhereLittleMayBeWritten) {
  const auto now = Clock::now();
  EXPECT_LE(started(now).next(), now + Millis(3));
  plan_.limits.disk = Bytes{64 * 1024 * kMega};
  EXPECT_LE(started(now).next(), now + Millis(4)) << "few files";
  plan_.limits.inodes = 1'000'000;
  EXPECT_EQ(started(now).next(), now + kUsualPause);
}

TEST_F(DiskWatchTest, N8_FilesThatAreMadeAreLookedForAtOnce) {
  plan_.limits.disk = Bytes{64 * 1024 * kMega};
  plan_.limits.inodes = 20;
  const auto now = Clock::now();
  DiskWatch watch = started(now);
  for (int i = 0; i < 100; ++i) write(std::to_string(i), 0);
  auto at = now;
  while (watch.verdict().empty() && at < now + kUsualPause / 2) {
    at = watch.next();
    watch.advance(at, cell_);
  }
  EXPECT_TRUE(watch.inodes_used_up());
}

// What was there before, or is smaller, tells nothing.
TEST_F(DiskWatchTest, N8_AFileAsLargeAsOneMayBeIsSeenAtTheEnd) {
  write("before", 4 * kMega);
  for (const std::size_t size : {4 * kMega - 1, 4 * kMega}) {
    const auto now = Clock::now();
    DiskWatch watch = started(now);
    write("new", size);
    watch.begin_last_look(now);
    while (!watch.done()) watch.advance(watch.next(), cell_);
    EXPECT_EQ(watch.verdict(), "");
    EXPECT_EQ(watch.file_at_bound(), size == 4 * kMega);
    fs::remove(top_ + "/new");
  }
}

TEST_F(DiskWatchTest, N8_RoomThatIsGoneIsLookedForAtOnce) {
  const auto now = Clock::now();
  DiskWatch watch = started(now);
  write("a", 8 * kMega);
  auto at = now;
  while (watch.verdict().empty() && at < now + kUsualPause / 2) {
    at = watch.next();
    watch.advance(at, cell_);
  }
  EXPECT_NE(watch.verdict(), "") << "found by the clock only";
}

// A guest that goes on writing meanwhile would have written anything by the time that a large tree was walked.
TEST_F(DiskWatchTest, N8_ALargeTreeIsWalkedWithoutPausesWhereAllTheRoomIsGone) {
  plan_.limits.inodes = 1'000'000;
  for (int i = 0; i < 8000; ++i) write("there" + std::to_string(i), 0);
  DiskWatch watch = started(Clock::now());
  for (int i = 0; i < 64; ++i) write("new" + std::to_string(i), kMega / 8);
  Clock::duration waited{};
  while (watch.verdict().empty() && waited < kUsualPause) {
    const auto at = std::max(watch.next(), Clock::now());
    waited += std::max(Clock::duration::zero(), watch.next() - Clock::now());
    watch.advance(at, cell_);
  }
  EXPECT_NE(watch.verdict(), "");
  EXPECT_LT(waited, kUsualPause / 2);
}

TEST_F(DiskWatchTest, N8_WithoutAnythingWrittenItIsLookedAtAsBefore) {
  const auto now = Clock::now();
  DiskWatch watch = started(now);
  while (watch.next() < now + kUsualPause) {
    const auto at = watch.next();
    watch.advance(at, cell_);
    ASSERT_GT(watch.next(), at) << "it would never sleep";
  }
  EXPECT_EQ(watch.next(), now + kUsualPause);
  EXPECT_EQ(watch.verdict(), "");
}

}  // namespace
}  // namespace cloche
