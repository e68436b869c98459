#include "host/workspace_probe.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

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
  EXPECT_EQ(look(false).other_group, "");
  write("file");
  const WorkspaceFacts facts = look(false);
  EXPECT_EQ(facts.other_group, "file has group " + std::to_string(::getegid()));
  EXPECT_EQ(facts.no_overlay, "");
  EXPECT_EQ(facts.entries, 1u);
  WorkspaceFacts plain;
  plain.path = folder_;
  EXPECT_EQ(look(true), plain);
  how_.guest.reset();
  EXPECT_EQ(look_at_workspace(folder_, how_).other_group, "");
}

TEST_F(WorkspaceProbe, X6_WhatBelongsToSomebodyElseIsLeftAsItIs) {
  write("file");
  how_.guest = {::geteuid() + 1, ::getegid() + 1};
  EXPECT_EQ(look_at_workspace(folder_, how_).other_group, "");
}

TEST_F(WorkspaceProbe, X6_NoMoreIsLookedAtThanACopyMayTake) {
  fs::create_directory(folder_ / "deep");
  for (int i = 0; i < 50; ++i) write("deep/" + std::to_string(i));
  how_.bound.entries = 10;
  EXPECT_EQ(look(false).entries, 11u);
  how_.bound = {};  // an overlay, whatever is in it
  EXPECT_EQ(look(false).entries, 1u);
  EXPECT_NE(look(false).other_group, "");
  EXPECT_EQ(look(true).entries, 0u);
}

}  // namespace
}  // namespace cloche
