#include "host/proc_text.h"

#include <gtest/gtest.h>

namespace cloche::host {
namespace {

constexpr const char* kProc = "22 27 0:21 / /proc rw,nosuid shared:1 master:2 - proc proc rw\n";

bool mountable(const std::string& text) { return proc_looks_mountable(parse_mountinfo(text)); }

TEST(ProcText, MountinfoFieldsAreFoundWhateverTheOptionalOnes) {
  for (const char* optional : {"", "shared:1 ", "shared:1 master:2 propagate_from:3 unbindable "}) {
    const std::string line = std::string("22 27 0:21 /r /p rw,nosuid ") + optional + "- ext4 /dev/x rw,a=b";
    const auto mounts = parse_mountinfo(line);
    ASSERT_EQ(mounts.size(), 1u) << line;
    EXPECT_EQ(mounts[0].id, 22u);
    EXPECT_EQ(mounts[0].parent, 27u);
    EXPECT_EQ(mounts[0].root, "/r");
    EXPECT_EQ(mounts[0].point, "/p");
    EXPECT_EQ(mounts[0].options, "rw,nosuid");
    EXPECT_EQ(mounts[0].type, "ext4");
    EXPECT_EQ(mounts[0].super_options, "rw,a=b");
  }
}

TEST(ProcText, CgroupPathsMayHoldColons) {
  const auto lines = parse_self_cgroup("4:cpu,cpuacct:/a:b\n0::/x:y\n");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].controllers, "cpu,cpuacct");
  EXPECT_EQ(lines[0].path, "/a:b");
  EXPECT_FALSE(lines[0].is_v2);
  EXPECT_EQ(lines[1].path, "/x:y");
  EXPECT_TRUE(lines[1].is_v2);
}

TEST(ProcText, IdSpanCountsFromZeroWithoutHoles) {
  EXPECT_EQ(parse_id_span("         0          0 4294967295\n"), 4294967295u);
  EXPECT_EQ(parse_id_span("0 100000 65536\n"), 65536u);
  EXPECT_EQ(parse_id_span("1 100000 65536\n0 1000 1\n"), 65537u);
  EXPECT_EQ(parse_id_span("1000 1000 1\n"), 0u);
  EXPECT_EQ(parse_id_span("0 0 10\n20 20 10\n"), 10u);
  EXPECT_EQ(parse_id_span("0 0 18446744073709551615\n1 1 18446744073709551615\n"), std::uint64_t{1} << 32);
  EXPECT_EQ(parse_id_span("x\n0 0\n"), 0u);
}

TEST(ProcText, BareProcIsMountable) { EXPECT_TRUE(mountable(kProc)); }

TEST(ProcText, MaskedProcIsNotMountable) {
  EXPECT_FALSE(mountable(std::string(kProc) + "50 22 0:50 / /proc/kcore rw - tmpfs tmpfs rw\n"));
  EXPECT_FALSE(mountable(std::string(kProc) + "50 22 0:21 /sys /proc/sys ro - proc proc rw\n"));
  EXPECT_FALSE(mountable(std::string(kProc) + "50 22 0:50 /proc/cpuinfo /proc/cpuinfo rw - fuse.lxcfs lxcfs rw\n"));
}

TEST(ProcText, MountsOnEmptyDirectoriesHideNothing) {
  EXPECT_TRUE(mountable(std::string(kProc) + "50 22 0:50 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n" +
                        "51 50 0:51 / /proc/sys/fs/binfmt_misc rw - binfmt_misc binfmt_misc rw\n"));
  EXPECT_TRUE(mountable(std::string(kProc) + "50 22 0:50 / /proc/fs/nfsd rw - nfsd nfsd rw\n"));
}

TEST(ProcText, ReadOnlyPartialOrMissingProcIsNotMountable) {
  EXPECT_FALSE(mountable("22 27 0:21 / /proc ro - proc proc rw\n"));
  EXPECT_FALSE(mountable("22 27 0:21 / /proc rw - proc proc ro\n"));
  EXPECT_FALSE(mountable("22 27 0:21 /sys /proc/sys rw - proc proc rw\n"));
  EXPECT_FALSE(mountable(""));
}

TEST(ProcText, ASecondWholeProcIsEnough) {
  EXPECT_TRUE(mountable(std::string(kProc) + "50 22 0:50 / /proc/kcore rw - tmpfs tmpfs rw\n" +
                        "60 27 0:60 / /mnt/proc rw - proc proc rw\n"));
}

}  // namespace
}  // namespace cloche::host
