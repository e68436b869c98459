#include "supervise/readings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace cloche {
namespace {

using testing::IsEmpty;

constexpr std::string_view kStatus =
    "Name:\tsleep\n"
    "Umask:\t0022\n"
    "State:\tS (sleeping)\n"
    "Uid:\t1000\t1000\t1000\t1000\n"
    "Groups:\t \n"
    "NSpid:\t4242\t2\n"
    "VmRSS:\t    1804 kB\n"
    "CapBnd:\t0000000000000000\n"
    "NoNewPrivs:\t1\n"
    "Seccomp:\t2\n"
    "Cpus_allowed_list:\t0-1\n";

constexpr std::string_view kLimits =
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max cpu time              unlimited            unlimited            seconds   \n"
    "Max file size             268435456            268435456            bytes     \n"
    "Max core file size        1                    1                    bytes     \n"
    "Max processes             529                  529                  processes \n"
    "Max open files            256                  256                  files     \n"
    "Max realtime timeout      unlimited            unlimited            us        \n";

constexpr std::string_view kMountinfo =
    "812 811 0:51 / / ro,nosuid,nodev,relatime - tmpfs none rw,size=1024k,nr_inodes=256,uid=1000,gid=1000\n"
    "813 812 8:1 /usr /usr ro,nosuid,nodev,relatime master:1 - ext4 /dev/vda rw,discard\n"
    "814 812 0:52 / /proc ro,nosuid,nodev,noexec,relatime - proc proc rw,subset=pid\n"
    "815 812 8:1 /a\\040b /mnt/a\\040b rw,nosuid,nodev shared:7 master:9 propagate_from:2 - ext4 /dev/vda rw\n";

constexpr std::string_view kCgroupV1 =
    "9:name=systemd:/\n"
    "8:pids:/cloche/abc\n"
    "4:cpu,cpuacct:/cloche/abc\n"
    "0::/\n";

TEST(Readings, StatusGivesValuesWithoutTheirPadding) {
  const auto status = parse_status(kStatus);
  EXPECT_EQ(status.at("Name"), "sleep");
  EXPECT_EQ(status.at("Uid"), "1000\t1000\t1000\t1000");
  EXPECT_EQ(status.at("Groups"), "");
  EXPECT_EQ(status.at("NSpid"), "4242\t2");
  EXPECT_EQ(status.at("VmRSS"), "1804 kB");
  EXPECT_EQ(status.at("NoNewPrivs"), "1");
  EXPECT_EQ(status.size(), 11u);
}

// The kernel escapes line feeds in a process's name; the first line of a key counts, whatever comes later.
TEST(Readings, ALaterLineCannotReplaceAnEarlierOne) {
  const auto status = parse_status("Name:\tx\\nNoNewPrivs:\\t1\nNoNewPrivs:\t0\nNoNewPrivs:\t1\n");
  EXPECT_EQ(status.at("NoNewPrivs"), "0");
}

TEST(Readings, LimitsAreFoundByTheirNames) {
  const auto limits = parse_limits(kLimits);
  EXPECT_EQ(limits.at("Max cpu time"), (RlimitReading{"unlimited", "unlimited"}));
  EXPECT_EQ(limits.at("Max core file size"), (RlimitReading{"1", "1"}));
  EXPECT_EQ(limits.at("Max processes"), (RlimitReading{"529", "529"}));
  EXPECT_EQ(limits.size(), 6u);
}

TEST(Readings, MountsKeepBothSetsOfOptions) {
  const auto mounts = parse_mountinfo(kMountinfo);
  ASSERT_EQ(mounts.size(), 4u);
  EXPECT_EQ(mounts[0], (MountReading{mounts[0].id, mounts[0].parent, "/", "/", "ro,nosuid,nodev,relatime", "tmpfs",
                                     "rw,size=1024k,nr_inodes=256,uid=1000,gid=1000", mounts[0].device}));
  EXPECT_EQ(std::ranges::count(mounts[0].device, ':'), 1);
  EXPECT_EQ(mounts[1].type, "ext4");
  EXPECT_TRUE(mounts[2].has("subset=pid"));
  EXPECT_TRUE(mounts[2].has("noexec"));
  EXPECT_EQ(mounts[3].point, "/mnt/a b");
  EXPECT_EQ(mounts[3].type, "ext4");
}

TEST(Readings, AnOptionIsAWholeWord) {
  const MountReading mount{"2", "1", "/", "/", "rw,nosuid", "tmpfs", "errors=remount-ro,size=4k", "0:1"};
  EXPECT_FALSE(mount.has("ro"));
  EXPECT_FALSE(mount.has("suid"));
  EXPECT_FALSE(mount.has("size"));
  EXPECT_FALSE(mount.has(""));
  EXPECT_TRUE(mount.has("nosuid"));
}

TEST(Readings, CgroupsOfBothVersions) {
  const auto v1 = parse_cgroup(kCgroupV1);
  EXPECT_EQ(v1.at("pids"), "/cloche/abc");
  EXPECT_EQ(v1.at("cpu"), "/cloche/abc");
  EXPECT_EQ(v1.at("cpuacct"), "/cloche/abc");
  EXPECT_EQ(v1.at(""), "/");
  EXPECT_EQ(parse_cgroup("0::/user.slice/a:b\n").at(""), "/user.slice/a:b");
}

TEST(Readings, GarbageGivesNothing) {
  for (const std::string_view text : {"", "\n\n\n", "no colon here", " - ", "- - -", "Max ", ":::", "\0\0\0"}) {
    EXPECT_THAT(parse_limits(text), IsEmpty()) << text;
    EXPECT_THAT(parse_mountinfo(text), IsEmpty()) << text;
  }
  EXPECT_THAT(parse_status("no colon here"), IsEmpty());
  EXPECT_THAT(parse_cgroup("one:colon"), IsEmpty());
  EXPECT_THAT(parse_mountinfo("1 2 3 - tmpfs x y\n"), IsEmpty());
}

template <typename Text>
void parse_all(const Text& text) {
  (void)parse_status(text);
  (void)parse_limits(text);
  (void)parse_cgroup(text);
  for (const MountReading& mount : parse_mountinfo(text)) (void)mount.has("ro");
}

TEST(Readings, NoTextThatIsCutShortIsReadBeyondItsEnd) {
  for (const std::string_view text : {kStatus, kLimits, kMountinfo, kCgroupV1}) {
    // A copy of exactly this size on the heap, so that a sanitizer sees one byte too many.
    for (std::size_t size = 0; size <= text.size(); ++size) {
      const std::vector<char> exact(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size));
      parse_all(std::string_view(exact.data(), exact.size()));
    }
  }
}

TEST(Readings, NoTextWithChangedBytesBreaksAParser) {
  std::mt19937 random(20240117);
  for (const std::string_view text : {kStatus, kLimits, kMountinfo, kCgroupV1}) {
    for (int round = 0; round < 500; ++round) {
      std::string changed(text);
      for (int i = 0; i < 8; ++i) {
        constexpr std::string_view kBytes = ": ,-\n\t\0=M9";
        changed[random() % changed.size()] = kBytes[random() % kBytes.size()];
      }
      parse_all(std::string_view(changed));
    }
  }
}

}  // namespace
}  // namespace cloche
