#include "engine/left_behind.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace cloche {
namespace {

namespace fs = std::filesystem;

// A host of plain directories: rmdir(2) says of a full one what the kernel says of a group with processes, but for the
// number, which the integration tests see.
class LeftBehind : public testing::Test {
 protected:
  LeftBehind() {
    char name[] = "/tmp/cloche-left-XXXXXX";
    top_ = ::mkdtemp(name);
    for (const char* folder : {"/pids", "/memory", "/tmp"}) fs::create_directory(top_ + folder);
    facts_.version = CgroupFacts::Version::kV1;
    facts_.parent[static_cast<std::size_t>(Controller::kPids)] = top_ + "/pids/cloche";
    facts_.parent[static_cast<std::size_t>(Controller::kMemory)] = top_ + "/memory/delegated";
    fs::create_directory(top_ + "/memory/delegated");
  }
  ~LeftBehind() override { fs::remove_all(top_); }

  Status remove(const std::string& id) {
    return remove_left_behind(facts_, top_ + "/tmp", id, [this] { return go_on_; });
  }
  bool is_there(const std::string& name) const { return fs::exists(fs::symlink_status(top_ + name)); }
  void make(const std::string& name) const { fs::create_directories(top_ + name); }

  std::string top_;
  CgroupFacts facts_;
  bool go_on_ = true;
};

TEST_F(LeftBehind, K7_EverythingOfThatRunGoesAndNothingElse) {
  for (const char* id : {"abcdefghijkl", "abcdefghijkm"}) {
    make("/pids/cloche-" + std::string(id));
    make("/memory/delegated/" + std::string(id));
    make("/tmp/cloche-" + std::string(id) + "/a/b");
  }
  EXPECT_TRUE(remove("abcdefghijkl"));
  for (const char* name : {"/pids/cloche-", "/memory/delegated/", "/tmp/cloche-"}) {
    EXPECT_FALSE(is_there(name + std::string("abcdefghijkl"))) << name;
    EXPECT_TRUE(is_there(name + std::string("abcdefghijkm"))) << name;
  }
  EXPECT_TRUE(remove("abcdefghijkl"));
}

TEST_F(LeftBehind, OnlyIdsThatTheEngineMakes) {
  for (const char* id : {"data", "keeper", "../cloche-xyz", "abcdefghijklm", "../cloche-xy", ""}) {
    for (const char* folder : {"/tmp/cloche-", "/pids/cloche-"}) make(folder + std::string(id));
    EXPECT_TRUE(remove(id));
    for (const char* folder : {"/tmp/cloche-", "/pids/cloche-"}) EXPECT_TRUE(is_there(folder + std::string(id))) << id;
  }
}

TEST_F(LeftBehind, ALinkIsNotFollowedAndNotRemoved) {
  make("/precious/x");
  fs::create_symlink(top_ + "/precious", top_ + "/tmp/cloche-abcdefghijkl");
  EXPECT_TRUE(remove("abcdefghijkl"));
  EXPECT_TRUE(is_there("/tmp/cloche-abcdefghijkl"));
  EXPECT_TRUE(is_there("/precious/x"));
}

TEST_F(LeftBehind, ADirectoryOfSomebodyElsesStaysAndOneOfRootsGuestsGoes) {
  make("/tmp/cloche-abcdefghijkl");
  constexpr uid_t kBeyondGuests = 0x71000000 + (1u << 22) + 1;
  for (const uid_t other : {uid_t{12345}, kBeyondGuests}) {
    if (::geteuid() != 0 || ::chown((top_ + "/tmp/cloche-abcdefghijkl").c_str(), other, other) != 0) return;
    EXPECT_TRUE(remove("abcdefghijkl"));
    EXPECT_TRUE(is_there("/tmp/cloche-abcdefghijkl")) << other;
  }
  constexpr uid_t kGuest = 0x71000000 + 4711;
  if (::chown((top_ + "/tmp/cloche-abcdefghijkl").c_str(), kGuest, kGuest) != 0) return;
  EXPECT_TRUE(remove("abcdefghijkl"));
  EXPECT_FALSE(is_there("/tmp/cloche-abcdefghijkl"));
}

TEST_F(LeftBehind, WhatSomethingIsMountedOnStaysAndIsNamed) {
  const std::string work = "/tmp/cloche-abcdefghijkl";
  make(work + "/on");
  make(work + "/other/deep");
  make("/precious/x");
  if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount((top_ + "/precious").c_str(), (top_ + work + "/on").c_str(), nullptr, MS_BIND, nullptr) != 0) {
    GTEST_SKIP() << "fact: nothing can be mounted here";
  }
  const Status removed = remove("abcdefghijkl");
  EXPECT_TRUE(is_there("/precious/x")) << "the removal went through a mount";
  EXPECT_FALSE(is_there(work + "/other"));
  ASSERT_EQ(::umount2((top_ + work + "/on").c_str(), 0), 0);
  ASSERT_FALSE(removed) << "its record would be gone, and nobody would know of it";
  EXPECT_NE(removed.error().text().find("mounted"), std::string::npos) << removed.error().text();
  EXPECT_TRUE(remove("abcdefghijkl"));
  EXPECT_FALSE(is_there(work));
}

TEST_F(LeftBehind, WhatCannotBeRemovedIsNoReasonToForgetTheRun) {
  make("/pids/cloche-abcdefghijkl/member");  // as full as a group can be made here
  make("/tmp/cloche-abcdefghijkl/a");
  EXPECT_FALSE(remove("abcdefghijkl"));
  EXPECT_FALSE(is_there("/tmp/cloche-abcdefghijkl")) << "what could be removed was not";
  fs::remove(top_ + "/pids/cloche-abcdefghijkl/member");
  EXPECT_TRUE(remove("abcdefghijkl"));
}

TEST_F(LeftBehind, WhatIsStoppedIsNotOver) {
  make("/tmp/cloche-abcdefghijkl/a");
  go_on_ = false;
  EXPECT_FALSE(remove("abcdefghijkl"));
  go_on_ = true;
  EXPECT_TRUE(remove("abcdefghijkl"));
  EXPECT_FALSE(is_there("/tmp/cloche-abcdefghijkl"));
}

}  // namespace
}  // namespace cloche
