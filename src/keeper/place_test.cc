#include "keeper/place.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace cloche::keeper {
namespace {

namespace fs = std::filesystem;

class Place : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "cloche-place-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string inside(const char* name) const { return root_ + "/" + name; }

  std::string root_;
};

// An environment variable for as long as this lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value != nullptr ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(PlaceOfKeeper, FollowsTheEnvironment) {
  const Variable runtime("XDG_RUNTIME_DIR", "/run/user/7");
  {
    const Variable named("CLOCHE_KEEPER_DIR", "/somewhere");
    EXPECT_EQ(default_directory(), "/somewhere");
  }
  const Variable relative("CLOCHE_KEEPER_DIR", "some/where");
  EXPECT_EQ(default_directory(), "/run/user/7/cloche");
  const Variable none("XDG_RUNTIME_DIR", nullptr);
  EXPECT_EQ(default_directory(),
            ::geteuid() == 0 ? "/run/cloche" : "/tmp/cloche-keeper-" + std::to_string(::geteuid()));
}

TEST_F(Place, DirectoryIsMadeForKeepersOnly) {
  const auto missing = open_directory(inside("a"), false);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(fs::exists(inside("a")));
  ASSERT_TRUE(open_directory(inside("a"), true));
  struct stat st{};
  ASSERT_EQ(::stat(inside("a").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0700u);
  EXPECT_TRUE(open_directory(inside("a"), false));
}

TEST_F(Place, DirectoryMustBeOursAlone) {
  ASSERT_TRUE(open_directory(inside("a"), true));
  for (const mode_t mode : {0701u, 0710u, 0704u, 0777u}) {
    ASSERT_EQ(::chmod(inside("a").c_str(), mode), 0);
    EXPECT_FALSE(open_directory(inside("a"), false)) << mode;
    EXPECT_FALSE(open_directory(inside("a"), true)) << mode;
  }
  ASSERT_EQ(::chmod(inside("a").c_str(), 0700), 0);
  ASSERT_EQ(::symlink("a", inside("link").c_str()), 0);
  EXPECT_FALSE(open_directory(inside("link"), false));
  ASSERT_GE(Fd(::open(inside("file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)).get(), 0);
  EXPECT_FALSE(open_directory(inside("file"), true));
  if (::geteuid() != 0) GTEST_SKIP() << "fact: not root, so no directory can be given to another user";
  ASSERT_EQ(::chown(inside("a").c_str(), 61000, 61000), 0);
  EXPECT_FALSE(open_directory(inside("a"), false));
}

TEST_F(Place, OneListensAndADeadOneIsReplaced) {
  const auto directory = open_directory(inside("a"), true);
  ASSERT_TRUE(directory);
  EXPECT_EQ(connect_in(*directory).error().code, ErrorCode::kNotFound);
  std::optional<Result<Fd>> first(listen_in(*directory));
  ASSERT_TRUE(*first);
  EXPECT_TRUE(connect_in(*directory));
  const auto second = listen_in(*directory);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kRefused);
  first.reset();
  EXPECT_EQ(connect_in(*directory).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(listen_in(*directory));
}

TEST_F(Place, FullQueueHoldsNobody) {
  const auto directory = open_directory(inside("a"), true);
  ASSERT_TRUE(directory);
  const auto listener = listen_in(*directory);
  ASSERT_TRUE(listener);
  ASSERT_EQ(::listen(listener->get(), 0), 0);
  const auto waiting = connect_in(*directory);
  ASSERT_TRUE(waiting);
  EXPECT_FALSE(connect_in(*directory));
}

// What the check says of a child that has done this to itself.
template <typename Action>
bool accepted(Action action) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const Fd ours(ends[0]);
  Fd theirs(ends[1]);
  // A socket pair has its maker's credentials: the child makes one of its own, and sends an end.
  const pid_t child = ::fork();
  if (child == 0) {
    int own[2];
    if (!action() || ::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, own) != 0) ::_exit(1);
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    char byte = 'x';
    iovec part{&byte, 1};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* item = CMSG_FIRSTHDR(&header);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof(int));
    *reinterpret_cast<int*>(CMSG_DATA(item)) = own[0];
    if (::sendmsg(ends[1], &header, 0) != 1) ::_exit(1);
    (void)!::read(ends[1], &byte, 1);
    ::_exit(0);
  }
  theirs.reset();
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  char byte = 0;
  iovec part{&byte, 1};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  bool out = false;
  EXPECT_EQ(::recvmsg(ours.get(), &header, MSG_CMSG_CLOEXEC), 1) << "the child could not prepare itself";
  if (const cmsghdr* item = CMSG_FIRSTHDR(&header)) {
    const Fd peer(*reinterpret_cast<const int*>(CMSG_DATA(item)));
    const auto own = standing_of("self");
    out = own && same_standing(peer, *own).has_value();
  }
  (void)!::write(ours.get(), "x", 1);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
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
  for (const int kind : {CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWCGROUP}) {
    EXPECT_FALSE(accepted([kind] { return ::unshare(kind) == 0; })) << kind;
  }
  EXPECT_FALSE(accepted([] { return ::chroot("/usr") == 0; }));
  EXPECT_FALSE(accepted([] { return ::setegid(61000) == 0; }));
  EXPECT_FALSE(accepted([] { return ::seteuid(61000) == 0; }));
}

// In a process of its own, which nobody else's test shares the change with.
template <typename Check>
bool alone(Check check) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(check() ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
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
    ours->rights.at(3) = "\t0";
    ours->rights.at(6) = capabilities;
    return can_tell_confined(*ours);
  };
  EXPECT_TRUE(with("\t0000000000000000"));
  EXPECT_TRUE(with("\t000001ffffffffff"));
  EXPECT_FALSE(with("\t0000000000200000"));  // CAP_SYS_ADMIN, and no modules
}

}  // namespace
}  // namespace cloche::keeper
