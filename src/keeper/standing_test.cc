#include "keeper/standing.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "keeper/peer_support.h"

namespace cloche::keeper {
namespace {

// What the check says of a child that has done this to itself.
template <typename Action>
bool accepted(Action action) {
  bool out = false;
  with_child(action, [&out](const Fd& socket, auto /*end*/) {
    const auto own = standing_of("self");
    const auto peer = Peer::of(socket);
    out = own && peer && same_standing(*peer, *own).has_value();
  });
  return out;
}

TEST(Standing, OurLikeIsServed) {
  EXPECT_TRUE(accepted([] { return true; }));
}

TEST(Standing, WhoeverIsConfinedIsNot) {
  EXPECT_FALSE(accepted([] { return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0; }));
}

TEST(Standing, WhoeverIsInAnotherNamespaceIsNot) {
  if (::geteuid() != 0) GTEST_SKIP() << "fact: not root, so no namespace can be made alone";
  constexpr int kTime = 0x80;  // CLONE_NEWTIME: for its children, as CLONE_NEWPID
  for (const int kind : {CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWCGROUP, CLONE_NEWPID, kTime}) {
    EXPECT_FALSE(accepted([kind] { return ::unshare(kind) == 0; })) << kind;
  }
  EXPECT_FALSE(accepted([] { return ::chroot("/usr") == 0; }));
  EXPECT_FALSE(accepted([] { return ::setegid(61000) == 0; }));
  EXPECT_FALSE(accepted([] { return ::seteuid(61000) == 0; }));
}

bool add_filter() {
  sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{1, code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(Standing, WhoeverHasOneFilterMoreIsNotServed) {
  EXPECT_TRUE(alone([] { return add_filter() && accepted([] { return true; }) && !accepted(add_filter); }));
}

TEST(Standing, WhoeverHasARootThatWasTakenAwayIsNotServed) {
  if (::geteuid() != 0) GTEST_SKIP() << "fact: not root, so no mount can be made";
  const auto take_away = [] {
    constexpr const char* kPlace = "/tmp";
    if (::mount("/", kPlace, nullptr, MS_BIND, nullptr) != 0) return false;
    const int root = ::open(kPlace, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return ::umount2(kPlace, MNT_DETACH) == 0 && ::fchdir(root) == 0 && ::chroot(".") == 0;
  };
  EXPECT_TRUE(alone([&] {
    return ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           accepted([] { return true; }) && !accepted(take_away);
  }));
}

TEST(Standing, WhatLandlockKeepsIsToldByWhatItTakesToEnterIt) {
  EXPECT_TRUE(alone([] {
    const auto before = standing_of("self");
    if (!before || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    const auto after = standing_of("self");
    return after && !can_tell_confined(*after);
  }));
  auto ours = standing_of("self");
  ASSERT_TRUE(ours);
  const auto with = [&](const char* capabilities) {
    ours->rights.at(5) = "\t0";
    ours->rights.at(3) = capabilities;
    return can_tell_confined(*ours);
  };
  EXPECT_TRUE(with("\t0000000000000000"));
  EXPECT_TRUE(with("\t000001ffffffffff"));
  EXPECT_FALSE(with("\t0000000000200000"));  // CAP_SYS_ADMIN, and no modules
}

}  // namespace
}  // namespace cloche::keeper
