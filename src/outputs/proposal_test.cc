// Who may write what: one test for each rule of ownership.
#include "outputs/proposal.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "outputs/test_support.h"

namespace cloche::outputs {
namespace {

using tree::Picture;
using tree::TempTree;

const Outputs kOne{{"a", "1"}};
const Outputs kOther{{"a", "2"}};

TEST(Ownership, R4_ANewFileIsWrittenAndOwned) {
  const TempTree tree;
  EXPECT_EQ(hand_back(tree, {{"a", "1"}, {"d/e/f", "2", true}}, terms_of("p")), "add a, add d/e/f");
  EXPECT_EQ(files_of(tree),
            (Picture{{"a", "file 420 1"}, {"d", "directory 493"}, {"d/e", "directory 493"}, {"d/e/f", "file 493 2"}}));
  EXPECT_EQ(states(tree), "clean a p, clean d/e/f p");
}

TEST(Ownership, R4_OnesOwnUntouchedFileIsUpdated) {
  const TempTree tree;
  hand_back(tree, kOne, terms_of("p"));
  EXPECT_EQ(hand_back(tree, kOther, terms_of("p")), "update a");
  EXPECT_EQ(files_of(tree), (Picture{{"a", "file 420 2"}}));
  EXPECT_EQ(states(tree), "clean a p");
}

TEST(Ownership, WhatIsThereAlreadyIsNotWrittenAgain) {
  const TempTree tree;
  hand_back(tree, kOne, terms_of("p"));
  struct stat before{};
  ASSERT_EQ(::stat(tree.path("a").c_str(), &before), 0);
  const Picture picture = tree.picture();
  Terms later = terms_of("p");
  later.now = "2027-01-31T12:00:00Z";
  EXPECT_EQ(hand_back(tree, kOne, later), "unchanged a");
  struct stat after{};
  ASSERT_EQ(::stat(tree.path("a").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(tree.picture(), picture);
}

TEST(Ownership, R4_AnEditedFileIsLeftAloneAndStopsEverything) {
  const TempTree tree;
  hand_back(tree, kOne, terms_of("p"));
  tree.file("a", "X");  // as long as what was written
  const Picture picture = tree.picture();
  EXPECT_EQ(hand_back(tree, {{"a", "2"}, {"b", "2"}}, terms_of("p")), "conflict a, add b");
  EXPECT_EQ(tree.picture(), picture);
  EXPECT_EQ(states(tree), "edited a p");
  EXPECT_EQ(proposed(tree, kOther, terms_of("p")).items[0].reason, "edited by hand since it was written");
}

TEST(Ownership, R4_ARightToExecuteThatAPersonChangedIsAnEdit) {
  const TempTree tree;
  hand_back(tree, kOne, terms_of("p"));
  ASSERT_EQ(::chmod(tree.path("a").c_str(), 0755), 0);
  EXPECT_EQ(hand_back(tree, kOther, terms_of("p")), "conflict a");
  // A checkout under another umask is none.
  ASSERT_EQ(::chmod(tree.path("a").c_str(), 0660), 0);
  EXPECT_EQ(states(tree), "clean a p");
}

TEST(Ownership, R4_ARemovedFileStaysRemoved) {
  const TempTree tree;
  hand_back(tree, kOne, terms_of("p"));
  tree::fs::remove(tree.path("a"));
  EXPECT_EQ(states(tree), "missing a p");
  EXPECT_EQ(hand_back(tree, kOther, terms_of("p")), "conflict a");
  EXPECT_EQ(files_of(tree), Picture{});
  EXPECT_EQ(hand_back(tree, kOther, terms_of("p", OnConflict::kForce)), "take over a");
  EXPECT_EQ(files_of(tree), (Picture{{"a", "file 420 2"}}));
}

TEST(Ownership, R4_AnotherProducersFileIsLeftAlone) {
  const TempTree tree;
  hand_back(tree, kOne, terms_of("p"));
  const Picture picture = tree.picture();
  EXPECT_EQ(hand_back(tree, kOther, terms_of("q")), "conflict a");
  EXPECT_EQ(proposed(tree, kOther, terms_of("q")).items[0].reason, "owned by p");
  // Also where it would write the very same bytes: a path has one owner.
  EXPECT_EQ(hand_back(tree, kOne, terms_of("q")), "conflict a");
  EXPECT_EQ(tree.picture(), picture);
  EXPECT_EQ(hand_back(tree, kOther, terms_of("q", OnConflict::kForce)), "take over a");
  EXPECT_EQ(states(tree), "clean a q");
  EXPECT_EQ(hand_back(tree, kOne, terms_of("p")), "conflict a");
}

TEST(Ownership, R4_ThePlaceOfARemovedFileIsItsOwnersAlsoForWhatLiesBelow) {
  const TempTree tree;
  hand_back(tree, {{"a", "1"}, {"d/e/f", "1"}}, terms_of("p"));
  tree::fs::remove(tree.path("a"));
  tree::fs::remove_all(tree.path("d"));
  const Picture picture = tree.picture();
  EXPECT_EQ(hand_back(tree, {{"a/b/c", "2"}, {"d/e", "2"}, {"d/e.x", "2"}}, terms_of("q")),
            "conflict a/b/c, conflict d/e, add d/e.x");
  EXPECT_EQ(hand_back(tree, {{"d", "2"}}, terms_of("q")), "conflict d");
  EXPECT_EQ(tree.picture(), picture);
  const Proposal proposal = proposed(tree, {{"a/b/c", "2"}, {"d/e", "2"}}, terms_of("q"));
  EXPECT_EQ(proposal.items[0].reason, "a above it is owned by p");
  EXPECT_EQ(proposal.items[1].reason, "d/e/f below it is owned by p");
  // Whoever takes it over is its one owner.
  EXPECT_EQ(hand_back(tree, {{"a/b/c", "2"}, {"d/e", "2"}}, terms_of("q", OnConflict::kForce)),
            "take over a/b/c, take over d/e");
  EXPECT_EQ(states(tree), "clean a/b/c q, clean d/e q");
}

TEST(Ownership, R4_OnesOwnRemovedFileMakesRoomForADirectory) {
  const TempTree tree;
  hand_back(tree, {{"a", "1"}, {"d/e", "1"}}, terms_of("p"));
  // While it is there it is in the way.
  EXPECT_EQ(hand_back(tree, {{"a/b", "2"}}, terms_of("p")), "conflict a/b, stale a, stale d/e");
  tree::fs::remove(tree.path("a"));
  tree::fs::remove_all(tree.path("d"));
  EXPECT_EQ(hand_back(tree, {{"a/b", "2"}, {"d", "2"}}, terms_of("p")), "add a/b, add d, forget a, forget d/e");
  EXPECT_EQ(states(tree), "clean a/b p, clean d p");
}

TEST(Ownership, R4_AFileThatNobodyOwnsIsLeftAlone) {
  const TempTree tree;
  tree.file("a", "mine");
  EXPECT_EQ(hand_back(tree, kOne, terms_of("p")), "conflict a");
  EXPECT_EQ(tree.picture(), (Picture{{"a", "file 420 mine"}}));
  EXPECT_EQ(hand_back(tree, kOne, terms_of("p", OnConflict::kForce)), "take over a");
  EXPECT_EQ(files_of(tree), (Picture{{"a", "file 420 1"}}));
}

TEST(Ownership, R4_SkippingWritesTheRestAndOwnsNothingMore) {
  const TempTree tree;
  hand_back(tree, kOne, terms_of("p"));
  tree.file("a", "edited");
  tree.file("u", "mine");
  EXPECT_EQ(hand_back(tree, {{"a", "2"}, {"b", "2"}, {"u", "2"}}, terms_of("p", OnConflict::kSkip)),
            "conflict a, add b, conflict u");
  EXPECT_EQ(files_of(tree), (Picture{{"a", "file 420 edited"}, {"b", "file 420 2"}, {"u", "file 420 mine"}}));
  EXPECT_EQ(states(tree), "edited a p, clean b p");
}

TEST(Ownership, R4_ALinkAtThePathIsNeverFollowed) {
  const TempTree tree;
  std::ofstream(tree.victim("v")) << "old";
  const Picture victim = tree.victim_picture();
  hand_back(tree, {{"a", "1"}, {"b", "1"}}, terms_of("p"));
  tree::fs::remove(tree.path("a"));
  tree.link("a", tree.victim("v"));
  tree.link("new", tree.victim("made"));
  EXPECT_EQ(states(tree), "changed kind a p, clean b p");
  const Outputs outputs{{"a", "2"}, {"new", "2"}};
  EXPECT_EQ(hand_back(tree, outputs, terms_of("p")), "conflict a, conflict new, stale b");
  EXPECT_EQ(hand_back(tree, outputs, terms_of("p", OnConflict::kForce)), "take over a, take over new, stale b");
  EXPECT_EQ(tree.victim_picture(), victim);
  EXPECT_EQ(files_of(tree), (Picture{{"a", "file 420 2"}, {"b", "file 420 1"}, {"new", "file 420 2"}}));
}

TEST(Ownership, R4_ALinkOrAFileAboveThePathIsAConflictThatForceDoesNotOverride) {
  const TempTree tree;
  const Picture victim = tree.victim_picture();
  tree.link("d", tree.victim());
  tree.file("f", "mine");
  for (const OnConflict on_conflict : {OnConflict::kStop, OnConflict::kForce}) {
    EXPECT_EQ(hand_back(tree, {{"d/x", "1"}, {"f/x/y", "1"}, {"ok", "1"}}, terms_of("p", on_conflict)),
              "conflict d/x, conflict f/x/y, add ok");
  }
  EXPECT_EQ(tree.victim_picture(), victim);
  EXPECT_EQ(tree.picture().size(), 2u);
  const Proposal proposal = proposed(tree, {{"d/x", "1"}, {"f/x/y", "1"}}, terms_of("p"));
  EXPECT_EQ(proposal.items[0].reason, "d is a symbolic link and not a directory");
  EXPECT_EQ(proposal.items[1].reason, "f is a regular file and not a directory");
}

TEST(Ownership, ADirectoryAtThePathIsNeverReplaced) {
  const TempTree tree;
  tree.folder("a");
  for (const OnConflict on_conflict : {OnConflict::kStop, OnConflict::kForce}) {
    EXPECT_EQ(hand_back(tree, kOne, terms_of("p", on_conflict)), "conflict a");
  }
  EXPECT_EQ(tree.picture(), (Picture{{"a", "directory 493"}}));
}

TEST(Ownership, AFifoAtThePathIsNotOpened) {
  const TempTree tree;
  hand_back(tree, kOne, terms_of("p"));
  tree::fs::remove(tree.path("a"));
  ASSERT_EQ(::mkfifo(tree.path("a").c_str(), 0600), 0);
  EXPECT_EQ(states(tree), "changed kind a p");
  EXPECT_EQ(hand_back(tree, kOther, terms_of("p")), "conflict a");
}

TEST(Ownership, R4_AHugeFileThatNobodyOwnsIsNotRead) {
  const TempTree tree;
  hand_back(tree, kOne, terms_of("p"));
  for (const char* name : {"a", "b"}) {
    tree.file(name, "");
    ASSERT_EQ(::truncate(tree.path(name).c_str(), 1ll << 42), 0);  // years of reading
  }
  EXPECT_EQ(hand_back(tree, {{"a", "2"}, {"b", "2"}}, terms_of("p")), "conflict a, conflict b");
}

TEST(Ownership, AFileKeepsWhoMayReadIt) {
  const TempTree tree;
  hand_back(tree, {{"a", "1"}, {"b", "1", true}, {"c", "1"}}, terms_of("p"));
  ASSERT_EQ(::chmod(tree.path("a").c_str(), 0600), 0);
  ASSERT_EQ(::chmod(tree.path("b").c_str(), 0710), 0);
  hand_back(tree, {{"a", "2"}, {"b", "2", true}, {"c", "1", true}}, terms_of("p"));
  EXPECT_EQ(files_of(tree), (Picture{{"a", "file 384 2"}, {"b", "file 448 2"}, {"c", "file 493 1"}}));
  Terms closed = terms_of("q");
  closed.umask = 077;
  hand_back(tree, {{"q", "1"}}, closed);
  EXPECT_EQ(files_of(tree).at("q"), "file 384 1");
}

TEST(Ownership, R4_WhatIsNotHandedBackIsKeptAndStale) {
  const TempTree tree;
  hand_back(tree, {{"a", "1"}, {"b", "1"}}, terms_of("p"));
  hand_back(tree, {{"c", "1"}}, terms_of("q"));
  EXPECT_EQ(hand_back(tree, kOne, terms_of("p")), "unchanged a, stale b");
  EXPECT_EQ(states(tree), "clean a p, clean b p stale, clean c q");
  EXPECT_EQ(hand_back(tree, {{"a", "1"}, {"b", "1"}}, terms_of("p")), "unchanged a, unchanged b");
  EXPECT_EQ(states(tree), "clean a p, clean b p, clean c q");
}

TEST(Ownership, R4_PruningDeletesOnlyWhatIsOnesOwnAndUntouched) {
  const TempTree tree;
  hand_back(tree, {{"clean", "1"}, {"edited", "1"}, {"gone", "1"}, {"kept", "1"}}, terms_of("p"));
  hand_back(tree, {{"other", "1"}}, terms_of("q"));
  tree.file("mine", "1");
  tree.file("edited", "X");
  tree::fs::remove(tree.path("gone"));
  EXPECT_EQ(hand_back(tree, {{"kept", "1"}}, terms_of("p", OnConflict::kStop, OnStale::kPrune)),
            "unchanged kept, prune clean, stale edited, forget gone");
  EXPECT_EQ(
      files_of(tree),
      (Picture{{"edited", "file 420 X"}, {"kept", "file 420 1"}, {"mine", "file 420 1"}, {"other", "file 420 1"}}));
  EXPECT_EQ(states(tree), "edited edited p stale, clean kept p, clean other q");
}

TEST(Ownership, R4_PruningAProtectedNameNeedsItsWord) {
  const TempTree tree;
  Terms allowed = terms_of("p", OnConflict::kStop, OnStale::kPrune);
  allowed.names = Protected::kAllow;
  hand_back(tree, {{".bashrc", "1"}}, allowed);
  EXPECT_EQ(hand_back(tree, {}, terms_of("p", OnConflict::kStop, OnStale::kPrune)), "stale .bashrc");
  EXPECT_EQ(hand_back(tree, {}, allowed), "prune .bashrc");
  EXPECT_EQ(tree.picture(), Picture{});
}

TEST(Ownership, R4_AFileThatGitWouldObeyNeedsItsWord) {
  const TempTree tree;
  const Terms terms = terms_of("p", OnConflict::kStop, OnStale::kPrune);
  const Outputs repository{
      {"b/HEAD", "ref: refs/heads/main"}, {"b/config", "1"}, {"b/objects/x", ""}, {"b/refs/x", ""}};
  EXPECT_FALSE(propose(tree.fd(), repository, terms));
  // One after the other: the last piece is refused.
  const Outputs most(repository.begin(), repository.end() - 1);
  EXPECT_EQ(hand_back(tree, most, terms), "add b/HEAD, add b/config, add b/objects/x");
  EXPECT_FALSE(propose(tree.fd(), repository, terms));
  EXPECT_FALSE(propose(tree.fd(), std::span(repository).last(1), terms));
  Terms allowed = terms;
  allowed.names = Protected::kAllow;
  hand_back(tree, repository, allowed);
  EXPECT_EQ(hand_back(tree, {}, terms), "prune b/HEAD, stale b/config, prune b/objects/x, prune b/refs/x");
}

TEST(Ownership, AnUnreadableFileCountsAsEdited) {
  if (::geteuid() == 0) return;  // root reads everything; ctest runs this as an ordinary user, too
  const TempTree tree;
  hand_back(tree, kOne, terms_of("p"));
  ASSERT_EQ(::chmod(tree.path("a").c_str(), 0200), 0);
  EXPECT_EQ(states(tree), "unreadable a p");
  EXPECT_EQ(hand_back(tree, kOther, terms_of("p")), "conflict a");
}

}  // namespace
}  // namespace cloche::outputs
