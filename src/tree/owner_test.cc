// Whose new things are, and that holes stay holes.
#include <gtest/gtest.h>
#include <sys/stat.h>

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
  expect_applied(tree::apply(tree_.fd(), proposal(add("file", "1", 0640), add("deep/er/file", "2"),
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
  expect_applied(tree::apply(tree_.fd(), proposal(replace_now(tree_, add("mine", "new")), std::move(mode))));
  // The test made it as itself, in a tree of somebody else.
  EXPECT_EQ(status(tree_.path("mine")).st_uid, ::geteuid());
  expect_owner("mode");
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
  expect_applied(tree::apply(tree.fd(), changes));
  EXPECT_EQ(bytes_of(tree.path("sparse")), bytes);
  EXPECT_LT(status(tree.path("sparse")).st_blocks * 512, 1 << 20);
}

}  // namespace
}  // namespace cloche::tree
