// What stands in the way of a proposal is told as data, and nothing is written.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tree/apply.h"
#include "tree/test_support.h"

namespace cloche::tree {
namespace {

// Exactly this conflict, and a tree that nobody touched.
void expect_conflict(const TempTree& tree, const std::vector<Change>& changes, const std::string& path,
                     ConflictKind kind, const Options& options = {}) {
  const Picture before = tree.picture();
  const auto result = try_apply(tree.fd(), changes, options);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_FALSE(result->applied);
  ASSERT_FALSE(result->conflicts.empty());
  EXPECT_EQ(result->conflicts.front().path, path);
  EXPECT_EQ(result->conflicts.front().kind, kind);
  EXPECT_FALSE(result->conflicts.front().reason.empty());
  EXPECT_EQ(tree.picture(), before);
}

// With force it is done, and the conflict is told all the same.
void expect_forced(const TempTree& tree, const std::vector<Change>& changes) {
  Options options;
  options.force = true;
  const auto result = try_apply(tree.fd(), changes, options);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->applied);
  EXPECT_FALSE(result->conflicts.empty());
  EXPECT_FALSE(tree.staging_exists());
}

TEST(Conflicts, AFileThatAnotherHasEditedMeanwhile) {
  const TempTree tree;
  tree.file("a", "old");
  std::vector<Change> changes = proposal(replace_now(tree, add("a", "new")), add("b", "x"));
  tree.file("a", "mine");
  expect_conflict(tree, changes, "a", ConflictKind::kChanged);
  expect_forced(tree, changes);
  EXPECT_EQ(bytes_of(tree.path("a")), "new");
}

TEST(Conflicts, AModeALinkAndAKindCount) {
  const TempTree tree;
  tree.file("mode", "x", 0644);
  tree.link("link", "a");
  tree.file("kind", "x");
  tree.file("gone", "x");
  const auto mode = proposal(remove_now(tree, "mode"));
  const auto link = proposal(remove_now(tree, "link"));
  const auto kind = proposal(remove_now(tree, "kind"));
  const auto gone = proposal(remove_now(tree, "gone"), add("new", "1"));
  tree.file("mode", "x", 0600);
  fs::remove(tree.path("link"));
  tree.link("link", "b");
  fs::remove(tree.path("kind"));
  tree.folder("kind");
  fs::remove(tree.path("gone"));
  expect_conflict(tree, mode, "mode", ConflictKind::kChanged);
  expect_conflict(tree, link, "link", ConflictKind::kChanged);
  expect_conflict(tree, kind, "kind", ConflictKind::kChanged);
  expect_conflict(tree, gone, "gone", ConflictKind::kChanged);
  expect_forced(tree, mode);
  expect_forced(tree, link);
  expect_forced(tree, kind);
  expect_forced(tree, gone);
  EXPECT_EQ(tree.picture(), (Picture{{"new", "file 420 1"}}));
}

TEST(Conflicts, WhatShallBeAddedIsThereAlready) {
  const TempTree tree;
  tree.file("a", "mine");
  ASSERT_EQ(::mkfifo(tree.path("p").c_str(), 0644), 0);
  expect_conflict(tree, proposal(add("a", "new")), "a", ConflictKind::kChanged);
  expect_conflict(tree, proposal(add("p", "new")), "p", ConflictKind::kChanged);
  expect_forced(tree, proposal(add("a", "new"), add("p", "new")));
  EXPECT_EQ(tree.picture(), (Picture{{"a", "file 420 new"}, {"p", "file 420 new"}}));
}

TEST(Conflicts, BothStatesAreGiven) {
  const TempTree tree;
  tree.file("a", "old");
  std::vector<Change> changes = proposal(replace_now(tree, add("a", "new")));
  tree.file("a", "mine");
  const auto result = try_apply(tree.fd(), changes);
  ASSERT_TRUE(result && result->conflicts.size() == 1);
  EXPECT_TRUE(agree(result->conflicts[0].expected, regular_state("old", 0644)));
  EXPECT_TRUE(agree(result->conflicts[0].present, regular_state("mine", 0644)));
}

TEST(Conflicts, EveryConflictIsToldAtOnce) {
  const TempTree tree;
  tree.file("a", "1");
  tree.file("b", "2");
  const auto result = try_apply(tree.fd(), proposal(add("a", "x"), add("b", "x"), add("c", "x")));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->conflicts.size(), 2u);
}

// Force is about what the proposal names; what it does not name is not lost by it.
TEST(Conflicts, ADirectoryThatIsNotEmptyStaysAlsoWithForce) {
  const TempTree tree;
  tree.folder("d");
  tree.file("d/named", "1");
  tree.file("d/other", "2");
  Options force;
  force.force = true;
  expect_conflict(tree, proposal(remove_now(tree, "d"), remove_now(tree, "d/named")), "d", ConflictKind::kNotEmpty,
                  force);
  expect_conflict(tree, proposal(replace_now(tree, add("d", "file")), remove_now(tree, "d/named")), "d",
                  ConflictKind::kNotEmpty, force);
}

TEST(Conflicts, AParentThatIsAFileOrALinkIsInTheWayAlsoWithForce) {
  const TempTree tree;
  tree.file("file", "x");
  tree.link("link", tree.victim());
  Options force;
  force.force = true;
  expect_conflict(tree, proposal(add("file/a", "1")), "file/a", ConflictKind::kParentNotFolder, force);
  expect_conflict(tree, proposal(add("link/a", "1")), "link/a", ConflictKind::kParentNotFolder, force);
  expect_conflict(tree, proposal(add("link/deep/a", "1")), "link/deep/a", ConflictKind::kParentNotFolder, force);
  EXPECT_TRUE(tree.victim_picture().empty());
}

TEST(Conflicts, ProtectedNamesNeedAWordOfTheirOwn) {
  const TempTree tree;
  tree.folder(".git");
  const auto changes = proposal(add(".git/hooks/pre-commit", "#!/bin/sh", 0755));
  Options options;
  options.force = true;
  expect_conflict(tree, changes, ".git/hooks/pre-commit", ConflictKind::kProtected, options);
  options.force = false;
  options.allow_protected = true;
  const auto result = try_apply(tree.fd(), changes, options);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->applied);
  EXPECT_EQ(result->conflicts.size(), 1u);
  EXPECT_EQ(bytes_of(tree.path(".git/hooks/pre-commit")), "#!/bin/sh");
}

TEST(Conflicts, ALinkToBecomeAProtectedDirectoryIsSeen) {
  const TempTree tree;
  expect_conflict(tree, proposal(add_link(".vscode", "innocent"), add("innocent/tasks.json", "{}")), ".vscode",
                  ConflictKind::kProtected);
  tree.file(".bashrc", "x");
  expect_conflict(tree, proposal(remove_now(tree, ".bashrc")), ".bashrc", ConflictKind::kProtected);
}

}  // namespace
}  // namespace cloche::tree
