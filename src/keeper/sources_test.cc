#include "keeper/sources.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace cloche::keeper {
namespace {

constexpr std::string_view kUsual =
    "20 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
    "21 20 0:5 / /dev rw - devtmpfs none rw\n"
    "22 20 0:6 / /usr/share/my\\040data ro - ext4 /dev/vdb ro\n"
    "23 20 0:7 / /srv rw - ext4 /dev/vdc rw\n";

std::string with(std::string_view line) { return std::string(kUsual) + std::string(line) + "\n"; }

const std::vector<std::string> kPaths = {"/usr", "/dev/null"};

TEST(MountsAround, X7_WhatIsMountedElsewhereChangesNothing) {
  const auto before = mounts_around(kPaths, kUsual);
  for (const char* line : {"24 20 0:8 / /mnt rw - tmpfs none rw", "24 20 0:8 / /usr2 rw - tmpfs none rw",
                           "24 20 0:8 / /dev/shm rw - tmpfs none rw", "24 20 0:8 / /us rw - tmpfs none rw",
                           "24 23 0:8 / /srv/usr rw - tmpfs none rw"}) {
    EXPECT_EQ(mounts_around(kPaths, with(line)), before) << line;
  }
  EXPECT_EQ(mounts_around(kPaths, kUsual.substr(0, kUsual.find("23 20"))), before);
}

TEST(MountsAround, X7_WhatIsMountedAtInsideOrAboveCounts) {
  const auto before = mounts_around(kPaths, kUsual);
  for (const char* line :
       {"24 20 0:8 / /usr rw - tmpfs none rw", "24 20 0:8 / /usr/local rw - tmpfs none rw",
        "24 20 0:8 / /dev/null rw - tmpfs none rw", "24 20 0:8 / /dev rw - tmpfs none rw",
        "24 20 0:8 / / rw - tmpfs none rw", "24 20 0:8 / /usr/a\\040b rw - tmpfs none rw", "no mount at all"}) {
    EXPECT_NE(mounts_around(kPaths, with(line)), before) << line;
  }
  std::string changed(kUsual);
  changed.replace(changed.find("data ro"), 7, "data rw");
  EXPECT_NE(mounts_around(kPaths, changed), before);
  EXPECT_NE(mounts_around(kPaths, kUsual.substr(kUsual.find("21 20"))), before);
}

TEST(MountsAround, X7_NamesWithBlanksAreReadAsTheKernelWritesThem) {
  const std::vector<std::string> paths = {"/usr/share/my data/x"};
  std::string changed(kUsual);
  changed.replace(changed.find("data ro"), 7, "data rw");
  EXPECT_NE(mounts_around(paths, changed), mounts_around(paths, kUsual));
}

TEST(MountsAround, X7_ALinkIsFollowedToWhereItLeads) {
  const std::string folder = testing::TempDir() + "mounts_around";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder + "/real");
  const std::string real = std::filesystem::canonical(folder + "/real");
  std::filesystem::create_symlink(real, folder + "/link");
  const std::vector<std::string> paths = {folder + "/link"};
  EXPECT_NE(mounts_around(paths, with("24 20 0:8 / " + real + "/sub rw - tmpfs none rw")),
            mounts_around(paths, kUsual));
  std::filesystem::remove_all(folder);
}

TEST(MountsAround, TheKernelTellsOfOurOwn) { EXPECT_EQ(mounts_around(kPaths), mounts_around(kPaths)); }

}  // namespace
}  // namespace cloche::keeper
