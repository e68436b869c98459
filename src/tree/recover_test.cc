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

// The sentence that people read: how far it had come, what the tree is now, and which files it is about.
TEST(Crash, X6_TheRecoverySaysHowFarItHadComeAndWhatIsThereNow) {
  const auto said_after = [](const char* last, bool occupied) {
    const TempTree tree(quick_place());
    tree.file("a", "old");
    tree.file("gone", "old");
    tree.folder("mode", 0755);
    const auto changes = proposal(replace_now(tree, add("a", "new")), add("b", "new"), remove_now(tree, "gone"),
                                  replace_now(tree, add_folder("mode", 0700)), add("y", "new"), add("z", "new"));
    ends_at(last, [&](const Options& options) { (void)try_apply(tree.fd(), changes, options); });
    if (occupied) tree.file("z", "mine");
    const auto recovered = try_recover(tree.fd());
    EXPECT_TRUE(recovered) << recovered.error().text();
    return recovered ? to_text(*recovered) : std::string();
  };
  const std::string names = " (a, b, gone, mode, y and 1 more)";
  EXPECT_EQ(said_after("commit", false),
            "an application that was interrupted before it was decided was tidied up: nothing of it was written, and "
            "the old state stays");
  EXPECT_EQ(said_after("put y", false),
            "an application that was interrupted with 3 of 6 changes in place has been finished: everything is in the "
            "new state" +
                names);
  const std::string undone = said_after("put z", true);
  EXPECT_TRUE(
      undone.starts_with("an application that was interrupted with 4 of 6 changes in place has been undone: "
                         "everything is in the old state" +
                         names + ", because apply z: could not be moved"))
      << undone;
  EXPECT_EQ(said_after("end", false), "an application of 6 changes" + names +
                                          " that was interrupted when all of it was written was tidied up: the new "
                                          "state stays");
  EXPECT_EQ(said_after("clean journal.done", false),
            "what was left of an application that had come to its end was tidied up");
  const TempTree untouched(quick_place());
  EXPECT_EQ(to_text(*try_recover(untouched.fd())), "");
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
