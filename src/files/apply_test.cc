#include "files/apply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/apply_support.h"
#include "files/standing.h"
#include "tree/path_rules.h"

namespace cloche::files {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string lines(int count, const std::map<int, std::string>& other = {}) {
  std::string text;
  for (int i = 1; i <= count; ++i) text += (other.contains(i) ? other.at(i) : "line " + std::to_string(i)) + "\n";
  return text;
}

TEST(ApplyProposal, TheWorkspaceBecomesWhatTheGuestSaw) {
  ApplyDesk desk;
  write_file(desk.lower("changed"), "old\n");
  write_file(desk.lower("gone"), "x");
  write_file(desk.lower("folder/deep/file"), "y");
  write_file(desk.lower("swap/inside"), "z");
  fs::create_symlink("/etc", desk.lower("link"));
  write_file(desk.upper("changed"), "new\n", 0755);
  whiteout(desk.upper("gone"));
  whiteout(desk.upper("folder"));
  write_file(desk.upper("swap"), "file");
  write_file(desk.upper("link/inside"), "in a directory");
  write_file(desk.upper("new/er"), "n");
  expect_captured(desk.capture());
  const auto outcome = desk.apply();
  expect_done(outcome);
  EXPECT_EQ(read(desk.lower("changed")), "new\n");
  EXPECT_EQ(read(desk.lower("swap")), "file");
  EXPECT_EQ(read(desk.lower("new/er")), "n");
  EXPECT_TRUE(fs::is_directory(fs::symlink_status(desk.lower("link"))));
  EXPECT_EQ(read(desk.lower("link/inside")), "in a directory");
  EXPECT_FALSE(fs::exists(desk.lower("gone")));
  EXPECT_FALSE(fs::exists(desk.lower("folder")));
  EXPECT_FALSE(fs::exists(desk.lower(".cloche-apply")));
  EXPECT_EQ(desk.pending(), 0u);
  EXPECT_EQ(outcome->added, 3u);
}

TEST(ApplyProposal, X6_WhatChangesItsKindBringsWholeTrees) {
  ApplyDesk desk;
  write_file(desk.lower("file"), "x");
  write_file(desk.lower("folder/a/b/c"), "y");
  write_file(desk.lower("other/a/b/c"), "z");
  fs::create_directory_symlink("other", desk.lower("link"));
  write_file(desk.upper("file/a/b/c"), "1");
  write_file(desk.upper("link/a/b/c"), "2");
  write_file(desk.upper("link/a/b/d/e"), "3");
  write_file(desk.upper("folder"), "4");
  fs::create_symlink("file", desk.upper("other"));
  expect_captured(desk.capture());
  // A part of it first: what it needs comes along, and the rest still finds its place.
  expect_done(desk.apply({}, {"link/a/b/c"}));
  expect_done(desk.apply());
  EXPECT_EQ(read(desk.lower("file/a/b/c")), "1");
  EXPECT_EQ(read(desk.lower("link/a/b/c")), "2");
  EXPECT_EQ(read(desk.lower("link/a/b/d/e")), "3");
  EXPECT_EQ(read(desk.lower("folder")), "4");
  EXPECT_EQ(fs::read_symlink(desk.lower("other")), "file");
  EXPECT_EQ(desk.pending(), 0u);
}

TEST(ApplyProposal, PartsByPathKeepTheRest) {
  ApplyDesk desk;
  write_file(desk.upper("a/one"), "1");
  write_file(desk.upper("a/two"), "2");
  write_file(desk.upper("a.b"), "3");
  write_file(desk.upper("b"), "4");
  ASSERT_EQ(::chmod(desk.upper("a").c_str(), 0711), 0);
  expect_captured(desk.capture());
  // The directory that it needs comes along, with its own mode.
  expect_done(desk.apply({}, {"a/one"}));
  EXPECT_EQ(fs::status(desk.lower("a")).permissions(), fs::perms(0711));
  EXPECT_FALSE(fs::exists(desk.lower("a/two")));
  EXPECT_EQ(desk.pending(), 3u);
  expect_done(desk.apply({}, {desk.lower("a") + "/"}));
  EXPECT_TRUE(fs::exists(desk.lower("a/two")));
  EXPECT_FALSE(fs::exists(desk.lower("a.b")));
  const auto none = desk.apply({}, {"a"});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().text(), HasSubstr("nothing there"));
  expect_done(desk.apply());
  EXPECT_EQ(read(desk.lower("b")), "4");
  EXPECT_EQ(desk.pending(), 0u);
}

TEST(ApplyProposal, PathsElsewhereAreRefused) {
  ApplyDesk desk;
  write_file(desk.upper("a"), "1");
  expect_captured(desk.capture());
  for (const std::string& path : {std::string("../a"), std::string("/etc/passwd"), desk.lower() + "-other/a"}) {
    const auto outcome = desk.apply({}, {path});
    ASSERT_FALSE(outcome) << path;
    EXPECT_THAT(outcome.error().text(), HasSubstr("does not lie in the workspace"));
  }
}

TEST(ApplyProposal, WhatTheHostChangedSinceIsNeverOverwritten) {
  ApplyDesk desk;
  write_file(desk.lower("both"), "old");
  write_file(desk.lower("gone"), "old");
  write_file(desk.upper("both"), "guest");
  write_file(desk.upper("new"), "guest");
  write_file(desk.upper("fine"), "guest");
  whiteout(desk.upper("gone"));
  expect_captured(desk.capture());
  write_file(desk.lower("both"), "host");
  write_file(desk.lower("gone"), "host");
  write_file(desk.lower("new"), "host");
  EXPECT_THAT(problems(desk.apply()), ElementsAre("conflict both", "conflict gone", "conflict new"));
  EXPECT_EQ(read(desk.lower("both")), "host");
  EXPECT_FALSE(fs::exists(desk.lower("fine")));
  EXPECT_EQ(desk.pending(), 4u);
  const auto forced = desk.apply({.force = true});
  expect_done(forced);
  EXPECT_THAT(forced->forced, ElementsAre("both", "gone", "new"));
  EXPECT_EQ(read(desk.lower("both")), "guest");
  EXPECT_FALSE(fs::exists(desk.lower("gone")));
}

TEST(ApplyProposal, WhatChangedWhileTheGuestRanNeedsForce) {
  ApplyDesk desk;
  write_file(desk.lower("file"), "old\n");
  desk.start();
  write_file(desk.lower("file"), "host\n");
  write_file(desk.upper("file"), "guest\n");
  expect_captured(desk.capture());
  EXPECT_THAT(problems(desk.apply()), ElementsAre("conflict file"));
  EXPECT_THAT(problems(desk.apply({.three_way = true})), ElementsAre("conflict file"));
  EXPECT_EQ(read(desk.lower("file")), "host\n");
  expect_done(desk.apply({.force = true}));
}

TEST(ApplyProposal, ThreeWayMergesWhatGoesTogether) {
  ApplyDesk desk;
  write_file(desk.lower("file"), lines(20));
  write_file(desk.upper("file"), lines(20, {{3, "guest"}}), 0755);
  expect_captured(desk.capture());
  write_file(desk.lower("file"), lines(20, {{17, "host"}}));
  EXPECT_THAT(problems(desk.apply()), ElementsAre("conflict file"));
  const auto outcome = desk.apply({.three_way = true});
  expect_done(outcome);
  EXPECT_THAT(outcome->merged, ElementsAre("file"));
  EXPECT_EQ(read(desk.lower("file")), lines(20, {{3, "guest"}, {17, "host"}}));
  EXPECT_EQ(fs::status(desk.lower("file")).permissions(), fs::perms(0755));
}

TEST(ApplyProposal, AMergeWithConflictsIsWrittenOnlyWithMarkers) {
  ApplyDesk desk;
  write_file(desk.lower("file"), lines(9));
  write_file(desk.upper("file"), lines(9, {{5, "guest"}}));
  expect_captured(desk.capture());
  const std::string host = lines(9, {{5, "host"}});
  write_file(desk.lower("file"), host);
  EXPECT_THAT(problems(desk.apply({.three_way = true})), ElementsAre("merge conflict file"));
  EXPECT_EQ(read(desk.lower("file")), host);
  expect_done(desk.apply({.three_way = true, .markers = true}));
  EXPECT_THAT(read(desk.lower("file")), HasSubstr("<<<<<<< host\nhost\n=======\nguest\n>>>>>>> guest\n"));
}

TEST(ApplyProposal, AModeOfOneSideAndBytesOfTheOtherGoTogether) {
  ApplyDesk desk;
  write_file(desk.lower("mode"), std::string("a\0b", 3));
  write_file(desk.lower("bytes"), std::string("a\0b", 3));
  write_file(desk.upper("mode"), std::string("a\0b", 3), 0755);
  write_file(desk.upper("bytes"), std::string("guest\0", 6));
  expect_captured(desk.capture());
  write_file(desk.lower("mode"), "host");
  write_file(desk.lower("bytes"), std::string("a\0b", 3), 0600);
  EXPECT_THAT(problems(desk.apply()), ElementsAre("conflict bytes", "conflict mode"));
  expect_done(desk.apply({.three_way = true}));
  EXPECT_EQ(read(desk.lower("mode")), "host");
  EXPECT_EQ(fs::status(desk.lower("mode")).permissions(), fs::perms(0755));
  EXPECT_EQ(read(desk.lower("bytes")), std::string("guest\0", 6));
  EXPECT_EQ(fs::status(desk.lower("bytes")).permissions(), fs::perms(0600));
}

// Nor does force take back what the host wrote, where the guest wrote nothing.
TEST(ApplyProposal, AModeAloneNeverTakesBytesBack) {
  ApplyDesk desk;
  write_file(desk.lower("mode"), "old");
  write_file(desk.upper("mode"), "old", 0755);
  expect_captured(desk.capture());
  write_file(desk.lower("mode"), "host");
  expect_done(desk.apply({.force = true}));
  EXPECT_EQ(read(desk.lower("mode")), "host");
  EXPECT_EQ(fs::status(desk.lower("mode")).permissions(), fs::perms(0755));
}

TEST(ApplyProposal, APartThatWasWrittenBeforeACrashIsFoundToBeThere) {
  ApplyDesk desk;
  write_file(desk.lower("file"), lines(40));
  write_file(desk.upper("file"), lines(40, {{2, "first"}, {38, "second"}}));
  expect_captured(desk.capture());
  write_file(desk.lower("file"), lines(40, {{2, "first"}}));
  const auto outcome = desk.apply({}, {}, {"file:1"});
  expect_done(outcome);
  EXPECT_EQ(outcome->there, 1u);
  expect_done(desk.apply());
  EXPECT_EQ(read(desk.lower("file")), lines(40, {{2, "first"}, {38, "second"}}));
}

TEST(ApplyProposal, HunksOneByOne) {
  ApplyDesk desk;
  write_file(desk.lower("file"), lines(40));
  const std::string guest = lines(40, {{2, "first"}, {20, "second"}, {38, "third"}});
  write_file(desk.upper("file"), guest, 0600);
  expect_captured(desk.capture());
  expect_done(desk.apply({}, {}, {"file:2"}));
  EXPECT_EQ(read(desk.lower("file")), lines(40, {{20, "second"}}));
  EXPECT_EQ(fs::status(desk.lower("file")).permissions(), fs::perms(0644));
  EXPECT_EQ(desk.pending(), 1u);
  // What is left is counted anew.
  const auto wrong = desk.apply({}, {}, {"file:3"});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().text(), HasSubstr("it has 2 hunks"));
  expect_done(desk.apply({}, {}, {"file:1-2"}));
  EXPECT_EQ(read(desk.lower("file")), guest);
  EXPECT_EQ(fs::status(desk.lower("file")).permissions(), fs::perms(0600));
  EXPECT_EQ(desk.pending(), 0u);
}

TEST(ApplyProposal, NumbersOfHunksThatAreNone) {
  ApplyDesk desk;
  write_file(desk.lower("file"), "a\n");
  write_file(desk.upper("file"), "b\n");
  expect_captured(desk.capture());
  for (const char* typed : {"file", "file:", "file:0", "file:x", "file:2-1", "file:1,", "file:-1", "other:1"}) {
    EXPECT_FALSE(desk.apply({}, {}, {typed})) << typed;
  }
  EXPECT_EQ(read(desk.lower("file")), "a\n");
}

TEST(ApplyProposal, ProtectedNamesNeedTheirOwnGrant) {
  ApplyDesk desk;
  write_file(desk.upper(".git/hooks/pre-commit"), "#!/bin/sh\n", 0755);
  write_file(desk.upper("plain"), "x");
  expect_captured(desk.capture());
  const auto refused = desk.apply({.force = true});
  ASSERT_TRUE(refused);
  EXPECT_FALSE(refused->applied);
  for (const Problem& problem : refused->problems) EXPECT_EQ(problem.kind, ProblemKind::kProtected) << problem.path;
  EXPECT_FALSE(fs::exists(desk.lower("plain")));
  expect_done(desk.apply({}, {"plain"}));
  EXPECT_FALSE(desk.apply({.granted = {".git/hook"}})->applied);
  expect_done(desk.apply({.granted = {".git"}}));
  EXPECT_TRUE(fs::exists(desk.lower(".git/hooks/pre-commit")));
}

TEST(ApplyProposal, ARepositoryOfAnyNameNeedsAGrantAlsoPieceByPiece) {
  ApplyDesk desk;
  fs::create_directories(desk.lower("theirs/objects"));
  fs::create_directories(desk.lower("theirs/refs"));
  write_file(desk.upper("theirs/config"), "[core]\n");
  write_file(desk.upper("theirs/HEAD"), "ref: refs/heads/main\n");
  write_file(desk.upper("plain/config"), "x");
  const auto summary = desk.capture();
  expect_captured(summary);
  EXPECT_EQ(summary->guarded, 2u);
  // Either could be the first of two.
  for (const char* path : {"theirs/config", "theirs/HEAD", "theirs"}) {
    const auto refused = desk.apply({.force = true}, {path});
    ASSERT_TRUE(refused);
    EXPECT_FALSE(refused->applied) << path;
    for (const Problem& problem : refused->problems) EXPECT_EQ(problem.kind, ProblemKind::kProtected) << problem.path;
  }
  expect_done(desk.apply({}, {"plain"}));
  EXPECT_FALSE(fs::exists(desk.lower("theirs/config")));
  expect_done(desk.apply({.granted = {"theirs"}}));
  EXPECT_TRUE(fs::exists(desk.lower("theirs/config")));
}

TEST(ApplyProposal, WhatCannotBeAppliedIsLeftOutAndSaid) {
  ApplyDesk desk;
  ASSERT_EQ(::mkfifo(desk.upper("fifo").c_str(), 0666), 0);
  write_file(desk.upper("file"), "x", 04755);
  expect_captured(desk.capture());
  const auto outcome = desk.apply();
  expect_done(outcome);
  EXPECT_THAT(outcome->unappliable, ElementsAre("fifo"));
  EXPECT_FALSE(fs::exists(desk.lower("fifo")));
  struct stat st{};
  ASSERT_EQ(::stat(desk.lower("file").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0755u);
}

TEST(ApplyProposal, ADryRunWritesNothingAndFindsEverything) {
  ApplyDesk desk;
  write_file(desk.lower("folder/a"), "1");
  whiteout(desk.upper("folder"));
  write_file(desk.upper("new"), "2");
  expect_captured(desk.capture());
  const auto dry = desk.apply({.dry_run = true});
  ASSERT_TRUE(dry);
  EXPECT_THAT(dry->problems, IsEmpty());
  EXPECT_FALSE(dry->applied);
  EXPECT_EQ(dry->deleted, 2u);
  write_file(desk.lower("folder/later"), "3");
  EXPECT_THAT(problems(desk.apply({.dry_run = true})), ElementsAre("cannot be done folder"));
  // Not even with force: nobody proposed to delete it.
  EXPECT_THAT(problems(desk.apply({.force = true})), ElementsAre("cannot be done folder"));
  EXPECT_TRUE(fs::exists(desk.lower("folder/a")));
  EXPECT_FALSE(fs::exists(desk.lower("new")));
  EXPECT_EQ(desk.pending(), 3u);
}

TEST(ApplyProposal, WhatWasAppliedBeforeACrashIsFoundToBeThere) {
  ApplyDesk desk;
  write_file(desk.lower("file"), "old");
  write_file(desk.upper("file"), "new");
  whiteout(desk.upper("never"));
  expect_captured(desk.capture());
  write_file(desk.lower("file"), "new");
  const auto outcome = desk.apply();
  expect_done(outcome);
  EXPECT_EQ(outcome->there, 1u);
  EXPECT_EQ(desk.pending(), 0u);
}

TEST(ApplyProposal, AContentThatIsNotTheOneThatWasKeptIsNotWritten) {
  ApplyDesk desk;
  write_file(desk.lower("file"), "old!");
  write_file(desk.upper("file"), "good");
  expect_captured(desk.capture());
  const std::string blob = desk.into("blobs/" + sys::to_hex(sys::sha256("good")));
  std::ofstream(blob) << "evil";
  EXPECT_FALSE(desk.apply());
  EXPECT_EQ(read(desk.lower("file")), "old!");
  fs::remove(blob);
  fs::create_symlink("/etc/hostname", blob);
  EXPECT_FALSE(desk.apply());
  EXPECT_EQ(read(desk.lower("file")), "old!");
}

TEST(ApplyProposal, ALinkPlantedOnTheHostLeadsNowhere) {
  ApplyDesk desk;
  fs::create_directory(desk.lower("folder"));
  write_file(desk.upper("folder/file"), "guest");
  expect_captured(desk.capture());
  fs::create_directory(desk.top() + "/victim");
  fs::remove(desk.lower("folder"));
  fs::create_symlink("../victim", desk.lower("folder"));
  EXPECT_THAT(problems(desk.apply({.force = true})), testing::Contains("cannot be done folder/file"));
  EXPECT_TRUE(fs::is_empty(desk.top() + "/victim"));
}

// More files than a process may have open.
TEST(ApplyProposal, ThousandsOfFiles) {
  ApplyDesk desk;
  for (int i = 0; i < 3000; ++i) write_file(desk.upper("f" + std::to_string(i)), std::to_string(i));
  expect_captured(desk.capture());
  expect_done(desk.apply());
  EXPECT_EQ(read(desk.lower("f2999")), "2999");
}

// Half of a move would lose the file.
TEST(ApplyProposal, WhatMayHaveMovedToWhereItCannotBeAppliedIsNotDeleted) {
  ApplyDesk desk;
  write_file(desk.lower("image"), "head and more");
  write_file(desk.upper("folder/" + std::string(tree::kStagingName)), "head and more");
  write_file(desk.lower("other"), "1");
  whiteout(desk.upper("image"));
  whiteout(desk.upper("other"));
  expect_captured(desk.capture());
  EXPECT_THAT(problems(desk.apply()), ElementsAre("cannot be done image"));
  EXPECT_THAT(problems(desk.apply({.force = true})), ElementsAre("cannot be done image"));
  EXPECT_TRUE(fs::exists(desk.lower("image")));
  EXPECT_TRUE(fs::exists(desk.lower("other")));
  expect_done(desk.apply({}, {"image"}));
  EXPECT_FALSE(fs::exists(desk.lower("image")));
}

}  // namespace
}  // namespace cloche::files
