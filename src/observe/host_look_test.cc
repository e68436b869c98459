#include "observe/host_look.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace cloche {
namespace {

namespace fs = std::filesystem;

class HostLookTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/var/tmp/cloche-look-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    top_ = fs::canonical(name).string();
    fs::create_directories(top_ + "/a/b");
    fs::create_directory(top_ + "/far");
    std::ofstream(top_ + "/a/b/file") << "x";
    std::ofstream(top_ + "/far/file") << "x";
    fs::create_symlink("../a/b/file", top_ + "/far/back");
    fs::create_symlink("b/file", top_ + "/a/link");
    fs::create_symlink(top_ + "/far/file", top_ + "/a/out");
    fs::create_symlink("loop", top_ + "/a/loop");
  }
  void TearDown() override { fs::remove_all(top_); }

  // A table of mounts in which `far` is something that must not be asked.
  std::string mounts(const std::string& kind) const {
    return fmt::format(
        "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
        "30 21 0:30 / {}/far rw,nosuid - {} somewhere rw\n",
        top_, kind);
  }
  std::optional<observe::HostPath> look(const std::string& mounts, const std::string& path) const {
    return HostLook(mounts).look(top_ + path, observe::Right::kRead);
  }

  std::string top_;
};

// They call themselves regular files, but reading some of them takes away what is in them (trace_pipe, kmsg).
TEST_F(HostLookTest, X4_NothingIsReadOfTheKernelsFiles) {
  const HostLook host = HostLook::of_this_host();
  for (const char* path : {"/proc/version", "/proc/sys/kernel/ostype", "/sys/kernel/uevent_seqnum"}) {
    if (::access(path, R_OK) != 0) continue;
    EXPECT_EQ(host.head(path), "") << path;
  }
  ASSERT_EQ(::access("/proc/version", R_OK), 0);
  std::ofstream(top_ + "/a/script") << "#! /bin/sh -e\n";
  EXPECT_EQ(HostLook(mounts("ext4")).head(top_ + "/a/script"), "#! /bin/sh -e\n");
  EXPECT_EQ(HostLook(mounts("ext4")).interpreter(top_ + "/a/script"), "/bin/sh");
  EXPECT_EQ(HostLook(mounts("ext4")).interpreter(top_ + "/a"), "");
}

TEST_F(HostLookTest, FindsWhatIsThereAndWhereItReallyIs) {
  const std::string table = mounts("ext4");
  ASSERT_TRUE(look(table, "/a/link"));
  EXPECT_EQ(look(table, "/a/link")->real, top_ + "/a/b/file");
  EXPECT_EQ(look(table, "/a/b/../link")->real, top_ + "/a/b/file");
  EXPECT_EQ(look(table, "/a/out")->real, top_ + "/far/file");
  EXPECT_EQ(look(table, "/a/out")->links, std::vector{top_ + "/a"});
  EXPECT_TRUE(look(table, "/a/b/file")->links.empty());
  EXPECT_TRUE(look(table, "/a")->directory);
  EXPECT_EQ(HostLook(table).look("/", observe::Right::kRead)->real, "/");
  EXPECT_FALSE(look(table, "/a/none"));
  EXPECT_FALSE(look(table, "/a/loop"));
  EXPECT_FALSE(look(table, "/a/b/file/below"));
}

TEST_F(HostLookTest, X4_FindsWhatKeepsStrangersOut) {
  const auto closed = [&](const char* path, observe::Right right) {
    return HostLook(mounts("ext4")).look(top_ + path, right)->closed;
  };
  fs::permissions(top_, fs::perms(0755));
  fs::permissions(top_ + "/a", fs::perms(0755));
  fs::permissions(top_ + "/a/b", fs::perms(0755));
  fs::permissions(top_ + "/a/b/file", fs::perms(0644));
  EXPECT_TRUE(closed("/a/b/file", observe::Right::kRead).empty());
  EXPECT_EQ(closed("/a/b/file", observe::Right::kWrite), std::vector{top_ + "/a/b/file"});
  EXPECT_EQ(closed("/a/b", observe::Right::kWrite), std::vector{top_ + "/a/b"});
  fs::permissions(top_ + "/a", fs::perms(0750));
  fs::permissions(top_ + "/a/b/file", fs::perms(0640));
  EXPECT_EQ(closed("/a/link", observe::Right::kRead), (std::vector{top_ + "/a", top_ + "/a/b/file"}));
}

TEST_F(HostLookTest, X4_NamesOfAGuestReachNoServerAndMountNothing) {
  for (const char* kind : {"autofs", "fuse.sshfs", "nfs4", "cifs", "9p", "fuse", "something-new"}) {
    const std::string table = mounts(kind);
    EXPECT_FALSE(look(table, "/far")) << kind;
    EXPECT_FALSE(look(table, "/far/file")) << kind;
    EXPECT_FALSE(look(table, "/a/out")) << kind << ": by way of a link";
    EXPECT_FALSE(look(table, "/a/../far/file")) << kind;
    EXPECT_TRUE(look(table, "/a/b/file")) << kind;
    EXPECT_TRUE(HostLook(table).lies_elsewhere(top_ + "/far/x")) << kind;
    EXPECT_FALSE(HostLook(table).lies_elsewhere(top_ + "/farther")) << kind;
    EXPECT_TRUE(HostLook(table).reaches_elsewhere(top_)) << kind << ": it is mounted in there";
    EXPECT_TRUE(HostLook(table).reaches_elsewhere("/")) << kind;
    EXPECT_TRUE(HostLook(table).reaches_elsewhere(top_ + "/far")) << kind;
    EXPECT_TRUE(HostLook(table).reaches_elsewhere(top_ + "/far/x")) << kind;
    EXPECT_FALSE(HostLook(table).reaches_elsewhere(top_ + "/a")) << kind;
    EXPECT_FALSE(HostLook(table).reaches_elsewhere(top_ + "/fa")) << kind;
  }
}

TEST_F(HostLookTest, WhereTheMountsAreNotKnownNothingIsLookedFor) { EXPECT_FALSE(look("", "/a/b/file")); }

TEST_F(HostLookTest, PointsWithBlanksAreRead) {
  EXPECT_TRUE(HostLook("30 21 0:30 / /mnt/a\\040b rw - nfs4 x rw\n").is_elsewhere("/mnt/a b"));
}

TEST_F(HostLookTest, CountsTheNamesThatItLeavesOut) {
  HostLook host(mounts("ext4"));
  constexpr int kMany = 1500;
  for (int i = 0; i < kMany; ++i) host.look(top_ + "/a/none" + std::to_string(i), observe::Right::kRead);
  EXPECT_GE(host.left_out(), 400u);
  const auto before = host.left_out();
  EXPECT_FALSE(host.look(top_ + "/a/none" + std::to_string(kMany - 1), observe::Right::kWrite));
  EXPECT_EQ(host.left_out(), before) << "each name once";
}

TEST_F(HostLookTest, ReadsWhichInterpreterAScriptNames) {
  std::ofstream(top_ + "/a/script") << "#! /opt/x/python -u\n";
  HostLook host(mounts("ext4"));
  EXPECT_EQ(host.look(top_ + "/a/script", observe::Right::kExecute)->interpreter, "/opt/x/python");
  EXPECT_EQ(host.look(top_ + "/a/script", observe::Right::kRead)->interpreter, "");
  EXPECT_EQ(host.look(top_ + "/a/b/file", observe::Right::kExecute)->interpreter, "");
}

}  // namespace
}  // namespace cloche
