#include "host/workspace_probe.h"

#include <gtest/gtest.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "sys/access_list.h"

namespace cloche {
namespace {

namespace fs = std::filesystem;

class WorkspaceProbe : public ::testing::Test {
 protected:
  WorkspaceProbe() {
    std::string name = fs::temp_directory_path() / "cloche-probe-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    how_.bound = {1 << 20, 100};
  }
  ~WorkspaceProbe() override { fs::remove_all(folder_); }

  void write(const std::string& name) const { std::ofstream(folder_ / name) << "x"; }
  // All that the test makes is of its own group: another one is that of a guest which has another.
  WorkspaceFacts look(bool same_group) {
    how_.guest = {::geteuid(), ::getegid() + (same_group ? 0 : 1)};
    return look_at_workspace(folder_, how_);
  }

  fs::path folder_;
  WorkspaceLook how_;
};

TEST_F(WorkspaceProbe, X6_AnotherGroupIsFoundAmongTheDirectEntries) {
  EXPECT_EQ(look(false).unchangeable, "");
  write("file");
  const WorkspaceFacts facts = look(false);
  EXPECT_EQ(facts.unchangeable, "file has group " + std::to_string(::getegid()));
  EXPECT_EQ(facts.no_overlay, "");
  EXPECT_EQ(facts.entries, 1u);
  WorkspaceFacts plain;
  plain.path = folder_;
  EXPECT_EQ(look(true), plain);
  how_.guest.reset();
  EXPECT_EQ(look_at_workspace(folder_, how_).unchangeable, "");
}

TEST_F(WorkspaceProbe, X6_AnAccessListThatNamesOthersIsFound) {
  write("file");
  fs::create_directory(folder_ / "folder");
  const auto give = [&](const char* name, const char* list, std::uint32_t user) {
    const std::string path = folder_ / name;
    const std::array<std::uint32_t, 11> words{2,   0x00060001, ~0u, 0x00040002, user, 0x00040004,
                                              ~0u, 0x00060010, ~0u, 0x00040020, ~0u};
    return ::setxattr(path.c_str(), list, words.data(), sizeof words, 0) == 0;
  };
  if (!give("file", sys::kAccessList, ::geteuid())) GTEST_SKIP() << "fact missing: no access lists on this file system";
  // Whom the guest is, it may name.
  EXPECT_EQ(look(true).unchangeable, "");
  ASSERT_TRUE(give("folder", sys::kDefaultAccessList, 4321));
  EXPECT_EQ(look(true).unchangeable, "folder has an access list that names user 4321");
  ASSERT_EQ(::removexattr((folder_ / "folder").c_str(), sys::kDefaultAccessList), 0);
  ASSERT_TRUE(give("file", sys::kAccessList, 4321));
  EXPECT_EQ(look(true).unchangeable, "file has an access list that names user 4321");
  EXPECT_EQ(look(true).entries, 2u);
}

TEST_F(WorkspaceProbe, X6_WhatBelongsToSomebodyElseIsLeftAsItIs) {
  write("file");
  how_.guest = {::geteuid() + 1, ::getegid() + 1};
  EXPECT_EQ(look_at_workspace(folder_, how_).unchangeable, "");
}

TEST_F(WorkspaceProbe, X6_NoMoreIsLookedAtThanACopyMayTake) {
  fs::create_directory(folder_ / "deep");
  for (int i = 0; i < 50; ++i) write("deep/" + std::to_string(i));
  how_.bound.entries = 10;
  EXPECT_EQ(look(false).entries, 11u);
  how_.bound = {};  // an overlay, whatever is in it
  EXPECT_EQ(look(false).entries, 1u);
  EXPECT_NE(look(false).unchangeable, "");
  EXPECT_EQ(look(true).entries, 0u);
}

}  // namespace
}  // namespace cloche
