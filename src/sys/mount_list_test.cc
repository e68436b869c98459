#include "sys/mount_list.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace cloche::sys {
namespace {

std::optional<MountEntry> at(const char* point) {
  const auto mounts = list_mounts();
  if (!mounts) return std::nullopt;
  const auto found = std::find_if(mounts->rbegin(), mounts->rend(), [&](const auto& m) { return m.point == point; });
  return found == mounts->rend() ? std::nullopt : std::optional(*found);
}

TEST(MountList, HasTheRootAndIsTheSameAgain) {
  const auto mounts = list_mounts();
  if (!mounts) GTEST_SKIP() << "fact missing: a kernel that lists mounts by numbers that do not come again (6.8)";
  EXPECT_TRUE(at("/").has_value());
  EXPECT_EQ(mounts, list_mounts());
}

// In namespaces of its own; the exit code says which look was wrong.
int look_at_changes(const char* place) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 2;
  const auto make = [&] { return ::mount("none", place, "tmpfs", 0, "size=1m") == 0; };
  if (at(place) || !make()) return 3;
  const auto first = at(place);
  if (!first || ::mount(nullptr, place, nullptr, MS_REMOUNT | MS_BIND | MS_NOEXEC, nullptr) != 0) return 4;
  const auto flagged = at(place);
  if (!flagged || flagged->id != first->id || flagged->traits == first->traits) return 5;
  if (::umount(place) != 0 || at(place) || !make()) return 6;
  const auto second = at(place);
  return second && second->id != first->id ? 0 : 7;
}

TEST(MountList, X7_ANumberDoesNotComeAgainAndFlagsCount) {
  if (!list_mounts()) GTEST_SKIP() << "fact missing: a kernel that lists mounts by numbers that do not come again (6.8)";
  if (::geteuid() != 0) GTEST_SKIP() << "fact: only root can mount on the host";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(::unshare(CLONE_NEWNS) == 0 ? look_at_changes("/mnt") : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace cloche::sys
