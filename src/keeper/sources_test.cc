#include "keeper/sources.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace cloche::keeper {
namespace {

using Mounts = std::vector<sys::MountEntry>;

const Mounts kUsual = {{1, "/", 7}, {2, "/dev", 7}, {3, "/usr/share/my data", 7}, {4, "/srv", 7}};
const std::vector<std::string> kPaths = {"/usr", "/dev/null"};

Mounts with(const std::string& point) {
  Mounts out = kUsual;
  out.push_back({5, point, 7});
  return out;
}

TEST(MountsAround, X7_WhatIsMountedElsewhereChangesNothing) {
  const auto before = mounts_around(kPaths, kUsual);
  for (const char* point : {"/mnt", "/usr2", "/dev/shm", "/us", "/srv/usr"}) {
    EXPECT_EQ(mounts_around(kPaths, with(point)), before) << point;
  }
  Mounts changed = kUsual;
  changed.pop_back();
  EXPECT_EQ(mounts_around(kPaths, changed), before);
}

TEST(MountsAround, X7_WhatIsMountedAtInsideOrAboveCounts) {
  const auto before = mounts_around(kPaths, kUsual);
  for (const char* point : {"/usr", "/usr/local", "/dev/null", "/dev", "/", "/usr/a b", ""}) {
    EXPECT_NE(mounts_around(kPaths, with(point)), before) << point;
  }
  Mounts fewer = kUsual;
  fewer.erase(fewer.begin() + 2);
  EXPECT_NE(mounts_around(kPaths, fewer), before);
}

TEST(MountsAround, X7_AnotherMountAtTheSamePlaceCountsAndSoDoOtherFlags) {
  const auto before = mounts_around(kPaths, kUsual);
  Mounts changed = kUsual;
  changed[2].id = 9;
  EXPECT_NE(mounts_around(kPaths, changed), before);
  changed = kUsual;
  changed[2].traits = 8;
  EXPECT_NE(mounts_around(kPaths, changed), before);
  changed = kUsual;
  changed[3].traits = 8;
  EXPECT_EQ(mounts_around(kPaths, changed), before);
}

TEST(MountsAround, NothingKnownIsNoNumberOfAny) { EXPECT_NE(mounts_around({}, {}), 0u); }

TEST(RealPaths, X7_ALinkIsFollowedToWhereItLeads) {
  const std::string folder = testing::TempDir() + "real_paths";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder + "/real");
  const std::string real = std::filesystem::canonical(folder + "/real");
  std::filesystem::create_symlink(real, folder + "/link");
  const auto paths = real_paths({folder + "/link", folder + "/missing"});
  ASSERT_EQ(paths.size(), 3u);
  EXPECT_EQ(paths[2], real);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace cloche::keeper
