#include "supervise/guest_view.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <string>

#include "supervise/readings.h"

namespace cloche::guest_view {
namespace {

bool keeps(const Fd& fd, Act act) { return is_kept_by_mount(::getpid(), fd.get(), act); }

TEST(GuestView, X4_AMountKeepsFromWhatItsFlagsSay) {
  // Of these none asks a server.
  const std::set<std::string> kLocal{"ext4", "xfs", "btrfs", "overlay", "tmpfs", "proc", "sysfs", "devtmpfs"};
  int seen = 0;
  for (const MountReading& mount : parse_mountinfo(read_start("/proc/self/mountinfo", std::size_t{256} << 10))) {
    const Fd fd(kLocal.contains(mount.type) ? ::open(mount.point.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1);
    struct statvfs flags{};
    if (!fd.valid() || ::fstatvfs(fd.get(), &flags) != 0) continue;
    EXPECT_EQ(keeps(fd, Act::kMap), (flags.f_flag & ST_NOEXEC) != 0) << mount.point;
    EXPECT_EQ(keeps(fd, Act::kMark), (flags.f_flag & ST_RDONLY) != 0) << mount.point;
    const Fd named(::open(mount.point.c_str(), O_PATH | O_CLOEXEC));
    EXPECT_FALSE(keeps(named, Act::kMap) || keeps(named, Act::kMark)) << "a mere place is good for neither";
    ++seen;
  }
  EXPECT_GT(seen, 0);
}

// A host need not have a mount with each flag: here are some, in a view of their own.
TEST(GuestView, X4_EachFlagKeepsFromItsOwnActAlone) {
  constexpr int kCannot = 77;
  const pid_t child = ::fork();
  if (child == 0) {
    const int spaces = ::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
    if (::unshare(spaces) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) ::_exit(kCannot);
    if (::mount("none", "/tmp", "tmpfs", MS_NOEXEC, nullptr) != 0) ::_exit(kCannot);
    Fd writes(::open("/tmp/x", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const Fd reads(::open("/tmp/x", O_RDONLY | O_CLOEXEC));
    bool good = keeps(reads, Act::kMap) && !keeps(reads, Act::kMark);
    good = good && !keeps(writes, Act::kMap);  // whatever the mount: it cannot be mapped
    writes.reset();
    if (::mount(nullptr, "/tmp", nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) ::_exit(kCannot);
    good = good && !keeps(reads, Act::kMap) && keeps(reads, Act::kMark);
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kCannot) GTEST_SKIP() << "nothing can be mounted here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(GuestView, X4_WhatLiesOnNoMountOfTheListIsKeptFromNothing) {
  int ends[2] = {};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reads(ends[0]), writes(ends[1]), memory(::memfd_create("x", MFD_CLOEXEC)), none;
  for (const Fd* fd : {&reads, &writes, &memory, &none}) {
    EXPECT_FALSE(keeps(*fd, Act::kMap));
    EXPECT_FALSE(keeps(*fd, Act::kMark));
  }
}

}  // namespace
}  // namespace cloche::guest_view
