// Whose new things are, and that holes stay holes.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <cstdint>
#include <cstring>

#include "tree/apply.h"
#include "tree/test_support.h"

namespace cloche::tree {
namespace {

constexpr uid_t kUser = 12345;
constexpr gid_t kGroup = 23456;

struct stat status(const std::string& path) {
  struct stat st{};
  EXPECT_EQ(::lstat(path.c_str(), &st), 0) << path;
  return st;
}

// An ordinary user owns everything that is new; root gives it away.
class Owners : public testing::Test {
 protected:
  Owners() {
    if (::geteuid() != 0) return;
    user_ = kUser;
    group_ = kGroup;
    EXPECT_EQ(::chown(tree_.path().c_str(), kUser, kGroup), 0);
  }
  void expect_owner(const std::string& name) const {
    EXPECT_EQ(status(tree_.path(name)).st_uid, user_) << name;
    EXPECT_EQ(status(tree_.path(name)).st_gid, group_) << name;
  }

  const TempTree tree_;
  uid_t user_ = ::geteuid();
  gid_t group_ = ::getegid();
};

TEST_F(Owners, NewThingsBelongToTheOwnerOfTheirDirectory) {
  expect_applied(try_apply(tree_.fd(), proposal(add("file", "1", 0640), add("deep/er/file", "2"),
                                                add_folder("folder", 0711), add_link("link", "target"))));
  for (const char* name : {"file", "deep", "deep/er", "deep/er/file", "folder", "link"}) expect_owner(name);
  EXPECT_EQ(status(tree_.path("file")).st_mode & 07777, 0640u);
  EXPECT_EQ(status(tree_.path("folder")).st_mode & 07777, 0711u);
}

TEST_F(Owners, WhatIsReplacedKeepsItsOwner) {
  tree_.file("mine", "old");
  tree_.file("mode", "kept");
  ASSERT_EQ(::chown(tree_.path("mode").c_str(), user_, group_), 0);
  Change mode{"mode", state_now(tree_, "mode"), state_now(tree_, "mode"), {}};
  mode.after->mode = 0755;
  expect_applied(try_apply(tree_.fd(), proposal(replace_now(tree_, add("mine", "new")), std::move(mode))));
  // The test made it as itself, in a tree of somebody else.
  EXPECT_EQ(status(tree_.path("mine")).st_uid, ::geteuid());
  expect_owner("mode");
}

std::string attribute(const std::string& path, const char* name) {
  std::string value(1024, '\0');
  const ssize_t size = ::getxattr(path.c_str(), name, value.data(), value.size());
  value.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return value;
}

// One user more may read and write it, and the group may not, although the mode's bits for the group, the mask, say so.
std::string access_list() {
  struct Line {
    std::uint16_t tag, rights;
    std::uint32_t id;
  };
  constexpr std::uint32_t kVersion = 2, kNobody = 0xffffffff;
  const Line lines[] = {{1, 6, kNobody}, {2, 6, kUser}, {4, 0, kNobody}, {0x10, 6, kNobody}, {0x20, 0, kNobody}};
  std::string bytes(sizeof kVersion + sizeof lines, '\0');
  std::memcpy(bytes.data(), &kVersion, sizeof kVersion);
  std::memcpy(bytes.data() + sizeof kVersion, lines, sizeof lines);
  return bytes;
}

TEST_F(Owners, WhatIsReplacedKeepsItsAccessListAndNotes) {
  constexpr const char* kList = "system.posix_acl_access";
  const std::string list = access_list();
  for (const char* name : {"bytes", "mode"}) {
    tree_.file(name, "old");
    ASSERT_EQ(::setxattr(tree_.path(name).c_str(), kList, list.data(), list.size(), 0), 0);
    ASSERT_EQ(::setxattr(tree_.path(name).c_str(), "user.note", "n", 1, 0), 0);
  }
  Change mode{"mode", state_now(tree_, "mode"), state_now(tree_, "mode"), {}};
  mode.after->mode = 0600;
  expect_applied(try_apply(tree_.fd(), proposal(replace_now(tree_, add("bytes", "new", 0660)), std::move(mode))));
  EXPECT_EQ(bytes_of(tree_.path("bytes")), "new");
  EXPECT_EQ(attribute(tree_.path("bytes"), kList), list);
  EXPECT_EQ(attribute(tree_.path("bytes"), "user.note"), "n");
  EXPECT_EQ(attribute(tree_.path("mode"), "user.note"), "n");
  EXPECT_EQ(status(tree_.path("mode")).st_mode & 07777, 0600u);
}

// What is staged lies elsewhere first: the list that is handed down there must not come along.
TEST_F(Owners, WhatIsNewHasTheAccessListOfItsOwnDirectoryAndOfNoOther) {
  constexpr const char* kList = "system.posix_acl_access";
  constexpr const char* kDefault = "system.posix_acl_default";
  const std::string list = access_list();
  ASSERT_EQ(::mkdir(tree_.path("closed").c_str(), 0755), 0);
  if (::setxattr(tree_.path("").c_str(), kDefault, list.data(), list.size(), 0) != 0) {
    GTEST_SKIP() << "fact missing: no access lists on this file system";
  }
  Change folder{"closed/dir", std::nullopt, directory_state(0750), {}};
  Change shared{"dir", std::nullopt, directory_state(0750), {}};
  expect_applied(try_apply(tree_.fd(), proposal(add("closed/new", "new", 0640), add("closed/deep/new", "new", 0640),
                                                std::move(folder), add("new", "new", 0660), std::move(shared))));
  for (const char* name : {"closed/new", "closed/dir", "closed/deep", "closed/deep/new"}) {
    EXPECT_LT(::getxattr(tree_.path(name).c_str(), kList, nullptr, 0), 0) << name;
    EXPECT_LT(::getxattr(tree_.path(name).c_str(), kDefault, nullptr, 0), 0) << name;
  }
  EXPECT_EQ(attribute(tree_.path("new"), kList), list);
  EXPECT_EQ(attribute(tree_.path("dir"), kDefault), list);
  EXPECT_EQ(status(tree_.path("dir")).st_mode & 07777, 0750u);
  EXPECT_EQ(status(tree_.path("closed/new")).st_mode & 07777, 0640u);
}

TEST(Holes, StayHoles) {
  const TempTree tree(quick_place());
  std::string bytes(8 << 20, '\0');
  bytes.front() = 'a';
  bytes[4 << 20] = 'b';
  auto content = sys::make_memfd("content", bytes);
  ASSERT_TRUE(content);
  std::vector<Change> changes;
  changes.push_back({"sparse", std::nullopt, regular_state(bytes, 0644), std::move(*content)});
  expect_applied(try_apply(tree.fd(), changes));
  EXPECT_EQ(bytes_of(tree.path("sparse")), bytes);
  EXPECT_LT(status(tree.path("sparse")).st_blocks * 512, 1 << 20);
}

}  // namespace
}  // namespace cloche::tree
