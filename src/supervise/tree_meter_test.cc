#include "supervise/tree_meter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace cloche {
namespace {

namespace fs = std::filesystem;

class Meter : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "cloche-meter-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, std::size_t size) const {
    std::ofstream(folder_ / name) << std::string(size, 'x');
  }
  // In the smallest slices there are.
  Amount measure(const std::vector<std::string>& paths) const {
    auto meter = TreeMeter::open(paths);
    EXPECT_TRUE(meter);
    meter->restart();
    while (meter->advance(Clock::time_point::min()) == TreeMeter::Progress::kMore) {
    }
    EXPECT_EQ(meter->unmeasured(), "");
    return meter->found();
  }

  fs::path folder_;
};

TEST_F(Meter, N8_CountsTheFilesOfOneSize) {
  fs::create_directory(folder_ / "a");
  write("a/one", 5000);
  write("two", 5000);
  write("less", 4999);
  write("more", 5001);
  fs::create_hard_link(folder_ / "two", folder_ / "again");
  fs::create_symlink("two", folder_ / "link");
  auto meter = TreeMeter::open({folder_}, 5000);
  ASSERT_TRUE(meter);
  for (int turn = 0; turn < 2; ++turn) {
    meter->restart();
    while (meter->advance(Clock::time_point::min()) == TreeMeter::Progress::kMore) {
    }
    EXPECT_EQ(meter->at_bound(), 2U);
  }
}

TEST_F(Meter, N8_CountsEveryNameAndEachFileOnce) {
  fs::create_directory(folder_ / "a");
  write("a/one", 100'000);
  const Amount before = measure({folder_});
  EXPECT_EQ(before.files, 3U);
  EXPECT_GE(before.bytes, 100'000U);
  fs::create_hard_link(folder_ / "a/one", folder_ / "two");
  const Amount linked = measure({folder_});
  EXPECT_EQ(linked.files, 4U);
  EXPECT_EQ(linked.bytes, before.bytes);
}

TEST_F(Meter, N8_FollowsNoLink) {
  fs::create_directory(folder_ / "inside");
  write("large", 1'000'000);
  fs::create_symlink(folder_, folder_ / "inside/loop");
  fs::create_symlink(folder_ / "large", folder_ / "inside/file");
  const Amount found = measure({folder_ / "inside"});
  EXPECT_EQ(found.files, 3U);
  EXPECT_LT(found.bytes, 100'000U);
  EXPECT_FALSE(TreeMeter::open({folder_ / "inside/loop"}));
}

TEST_F(Meter, N8_OneGrantInsideOfAnotherCountsOnce) {
  fs::create_directories(folder_ / "a/b");
  write("a/b/file", 50'000);
  const Amount outer = measure({folder_});
  EXPECT_EQ(measure({folder_, folder_ / "a/b"}), outer);
  EXPECT_EQ(measure({folder_ / "a/b", folder_, folder_}), outer);
}

TEST_F(Meter, N8_AFileCanBeGrantedAlone) {
  write("file", 50'000);
  const Amount found = measure({folder_ / "file"});
  EXPECT_EQ(found.files, 1U);
  EXPECT_GE(found.bytes, 50'000U);
}

TEST_F(Meter, N8_WhatLiesTooDeepIsSaid) {
  fs::path deep = folder_;
  for (int i = 0; i < 250; ++i) deep /= "d";
  fs::create_directories(deep);
  auto meter = TreeMeter::open({folder_});
  ASSERT_TRUE(meter);
  meter->restart();
  while (meter->advance(Clock::time_point::max()) == TreeMeter::Progress::kMore) {
  }
  EXPECT_NE(meter->unmeasured(), "");
}

}  // namespace
}  // namespace cloche
