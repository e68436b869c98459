// Somebody changes the tree between a crash and the recovery from it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>

#include "tree/apply.h"
#include "tree/test_support.h"

namespace cloche::tree {
namespace {

void exchange_folders(const TempTree& tree) {
  ASSERT_EQ(::renameat2(AT_FDCWD, tree.path("d").c_str(), AT_FDCWD, tree.path("other").c_str(), RENAME_EXCHANGE), 0);
}

// After a crash nothing is held open: what the journal says of a directory tells it from another one at its path.
TEST(Crash, R4_NothingGoesIntoADirectoryThatWasExchangedSince) {
  {
    const TempTree tree(quick_place());
    tree.folder("d");
    tree.folder("other");
    const auto changes = proposal(add("d/new", "new"));
    ends_at("put d/new", [&](const Options& options) { (void)try_apply(tree.fd(), changes, options); });
    exchange_folders(tree);
    const auto recovered = try_recover(tree.fd());
    ASSERT_TRUE(recovered) << recovered.error().text();
    EXPECT_EQ(recovered->outcome, Recovery::kRolledBack);
    EXPECT_TRUE(fs::is_empty(tree.path("d"))) << "which is the other one";
    EXPECT_FALSE(tree.staging_exists());
  }
  const TempTree tree(quick_place());
  tree.folder("d");
  tree.folder("other");
  tree.file("d/gone", "old");
  tree.file("d/changed", "old");
  const auto changes =
      proposal(remove_now(tree, "d/gone"), replace_now(tree, add("d/changed", "new")), add("zlast", "new"));
  ends_at("put zlast", [&](const Options& options) { (void)try_apply(tree.fd(), changes, options); });
  exchange_folders(tree);
  tree.file("zlast", "mine");  // so that it is undone
  const auto recovered = try_recover(tree.fd());
  ASSERT_TRUE(recovered) << recovered.error().text();
  EXPECT_EQ(recovered->outcome, Recovery::kRolledBack);
  EXPECT_TRUE(fs::is_empty(tree.path("d"))) << "which is the other one";
  for (const char* name : {"gone.cloche-old", "changed.cloche-old"}) {
    EXPECT_EQ(bytes_of(tree.path(name)), "old");
    EXPECT_NE(recovered->reason.find(name), std::string::npos) << recovered->reason;
  }
}

TEST(Crash, X6_WhatAKilledUndoKeptAsideIsNamed) {
  const TempTree tree(quick_place());
  tree.folder("d");
  tree.file("d/a", "old");
  tree.file("d/a.cloche-old", "of an earlier day");
  const auto changes = proposal(replace_now(tree, add("d/a", "new")), add("zlast", "new"));
  ends_at("put zlast", [&](const Options& options) { (void)try_apply(tree.fd(), changes, options); });
  fs::remove(tree.path("d/a"));
  tree.file("d/a", "mine");
  tree.file("zlast", "mine");
  ends_at("settle", [&](const Options& options) { (void)try_recover(tree.fd(), options); });
  EXPECT_EQ(bytes_of(tree.path("d/a.cloche-old-2")), "old");
  const auto recovered = try_recover(tree.fd());
  ASSERT_TRUE(recovered) << recovered.error().text();
  EXPECT_EQ(recovered->outcome, Recovery::kRolledBack);
  EXPECT_NE(recovered->reason.find("what d/a was before is kept as d/a.cloche-old-2"), std::string::npos)
      << recovered->reason;
  EXPECT_EQ(bytes_of(tree.path("d/a")), "mine");
}

// The end is noted after everything is done: who was interrupted right before leaves nothing that counts.
TEST(Crash, R4_AJournalCountsNoLongerOnceARecoverySawItsEnd) {
  const TempTree tree(quick_place());
  tree.file("a", "old");
  const auto changes = proposal(replace_now(tree, add("a", "new")));
  ends_at("end", [&](const Options& options) { (void)try_apply(tree.fd(), changes, options); });
  const std::string staging = tree.path(".cloche-apply");
  const std::string journal = bytes_of(staging + "/journal.done");
  ASSERT_FALSE(journal.empty());
  fs::create_hard_link(staging + "/o0", tree.victim("old"));
  Options keeping;
  keeping.progress = [&](std::string_view step) {
    if (step == "remove .cloche-apply") fs::rename(staging, tree.victim("staging"));
  };
  ASSERT_TRUE(try_recover(tree.fd(), keeping));
  fs::rename(tree.victim("staging"), staging);
  fs::rename(tree.victim("old"), staging + "/o0");
  tree.file(".cloche-apply/journal.undo", journal);
  const auto recovered = try_recover(tree.fd());
  ASSERT_FALSE(recovered);
  EXPECT_EQ(recovered.error().code, ErrorCode::kRefused);
  EXPECT_EQ(bytes_of(tree.path("a")), "new");
}

}  // namespace
}  // namespace cloche::tree
