#include "files/known_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/apply_support.h"

namespace cloche::files {
namespace {

using testing::ElementsAre;

bool ids_last(const Desk& desk) { return folder_id(desk.open_lower().get()).has_value(); }

// A guest that changed, added and removed in a directory of the host's.
void work_in(const ApplyDesk& desk) {
  write_file(desk.lower("d/changed"), "old");
  write_file(desk.lower("d/gone"), "old");
  write_file(desk.lower("d/deep/x"), "old");
  write_file(desk.upper("d/changed"), "new");
  write_file(desk.upper("d/made/new"), "new");
  write_file(desk.upper("d/deep/new"), "new");
  whiteout(desk.upper("d/gone"));
}

TEST(KnownFolders, X6_NothingIsWrittenIntoAnotherDirectoryOfTheSamePath) {
  ApplyDesk desk;
  if (!ids_last(desk)) GTEST_SKIP() << "fact missing: the file system's numbers of directories do not last";
  work_in(desk);
  expect_captured(desk.capture());
  // The same names and bytes, but another directory, as after `mv d old; cp -r old d`; `deep` is the one that it was.
  fs::rename(desk.lower("d"), desk.lower("old"));
  fs::copy(desk.lower("old"), desk.lower("d"), fs::copy_options::recursive);
  fs::remove_all(desk.lower("d/deep"));
  fs::rename(desk.lower("old/deep"), desk.lower("d/deep"));
  const auto outcome = desk.apply();
  EXPECT_THAT(problems(outcome), ElementsAre("conflict d/changed", "conflict d/gone", "conflict d/made"));
  ASSERT_FALSE(outcome->problems.empty());
  EXPECT_EQ(outcome->problems.front().reason, "another directory is where d was");
  EXPECT_EQ(read(desk.lower("d/changed")), "old");
  EXPECT_FALSE(fs::exists(desk.lower("d/deep/new")));
  // No merge answers it; a word of its own does.
  ApplyOptions merging;
  merging.three_way = true;
  EXPECT_EQ(problems(desk.apply(merging)).size(), 3u);
  ApplyOptions force;
  force.force = true;
  expect_done(desk.apply(force));
  EXPECT_EQ(read(desk.lower("d/changed")), "new");
  EXPECT_EQ(read(desk.lower("d/deep/new")), "new");
  EXPECT_EQ(read(desk.lower("old/changed")), "old");
}

TEST(KnownFolders, X6_ADirectoryThatWasMovedAwayIsNotMadeAgain) {
  ApplyDesk desk;
  if (!ids_last(desk)) GTEST_SKIP() << "fact missing: the file system's numbers of directories do not last";
  work_in(desk);
  expect_captured(desk.capture());
  fs::rename(desk.lower("d"), desk.lower("elsewhere"));
  const auto outcome = desk.apply();
  EXPECT_THAT(problems(outcome), ElementsAre("conflict d/changed", "conflict d/deep/new", "conflict d/made"));
  ASSERT_FALSE(outcome->problems.empty());
  EXPECT_EQ(outcome->problems.front().reason, "d was moved away or removed on the host since");
  EXPECT_FALSE(fs::exists(desk.lower("d")));
}

TEST(KnownFolders, X6_AnotherDirectoryInPlaceOfTheWorkspaceIsLeftAlone) {
  ApplyDesk desk;
  if (!ids_last(desk)) GTEST_SKIP() << "fact missing: the file system's numbers of directories do not last";
  work_in(desk);
  write_file(desk.upper("top"), "new");
  expect_captured(desk.capture());
  const tree::Picture before = [&] {
    fs::rename(desk.lower(), desk.top() + "/moved");
    fs::copy(desk.top() + "/moved", desk.lower(), fs::copy_options::recursive);
    tree::Picture picture;
    tree::picture_into(desk.lower(), "", picture);
    return picture;
  }();
  const auto outcome = desk.apply();
  EXPECT_EQ(problems(outcome).size(), desk.pending());
  for (const Problem& problem : outcome->problems) {
    EXPECT_EQ(problem.reason, "another directory is where the workspace was");
  }
  tree::Picture after;
  tree::picture_into(desk.lower(), "", after);
  EXPECT_EQ(after, before);
}

TEST(KnownFolders, X6_AModeAndADeletionAreMeantForOneDirectory) {
  ApplyDesk desk;
  if (!ids_last(desk)) GTEST_SKIP() << "fact missing: the file system's numbers of directories do not last";
  fs::create_directory(desk.lower("mode"));
  fs::create_directory(desk.lower("gone"));
  fs::create_directory(desk.upper("mode"));
  ASSERT_EQ(::chmod(desk.upper("mode").c_str(), 0700), 0);
  whiteout(desk.upper("gone"));
  expect_captured(desk.capture());
  for (const char* name : {"mode", "gone"}) {
    fs::rename(desk.lower(name), desk.lower(std::string("old-") + name));
    fs::create_directory(desk.lower(name));
  }
  EXPECT_THAT(problems(desk.apply()), ElementsAre("conflict gone", "conflict mode"));
}

TEST(KnownFolders, X6_WhatWasAppliedInPartIsKnownFromThenOn) {
  ApplyDesk desk;
  if (!ids_last(desk)) GTEST_SKIP() << "fact missing: the file system's numbers of directories do not last";
  write_file(desk.upper("made/one"), "1");
  write_file(desk.upper("made/two"), "2");
  expect_captured(desk.capture());
  expect_done(desk.apply({}, {"made/one"}));
  fs::rename(desk.lower("made"), desk.lower("old"));
  fs::create_directory(desk.lower("made"));
  EXPECT_THAT(problems(desk.apply()), ElementsAre("conflict made/two"));
  fs::remove(desk.lower("made"));
  fs::rename(desk.lower("old"), desk.lower("made"));
  expect_done(desk.apply());
  EXPECT_EQ(read(desk.lower("made/two")), "2");
}

// By somebody who is fast. Asked whether to stop: before the first entry is compared, before the first is checked
// again, before the first is staged.
TEST(KnownFolders, X6_ADirectoryThatIsExchangedWhileItIsAppliedIsNoticed) {
  for (const int moment : {1, 2, 3}) {
    ApplyDesk desk;
    if (!ids_last(desk)) GTEST_SKIP() << "fact missing: the file system's numbers of directories do not last";
    fs::create_directory(desk.lower("d"));
    write_file(desk.upper("d/new"), "new");
    expect_captured(desk.capture());
    int asked = 0;
    ApplyOptions options;
    options.cancelled = [&] {
      if (++asked == moment) {
        fs::rename(desk.lower("d"), desk.lower("old"));
        fs::create_directory(desk.lower("d"));
      }
      return false;
    };
    const auto outcome = desk.apply(options);
    EXPECT_FALSE(outcome && outcome->applied) << moment;
    EXPECT_GE(asked, moment);
    EXPECT_TRUE(fs::is_empty(desk.lower("d"))) << moment;
    EXPECT_TRUE(fs::is_empty(desk.lower("old"))) << moment;
    // Now that it is known to be another one, a word of its own puts it there.
    ApplyOptions force;
    force.force = true;
    expect_done(desk.apply(force));
    EXPECT_EQ(read(desk.lower("d/new")), "new");
  }
}

TEST(KnownFolders, X6_ADirectoryThatGoesWhileItIsAppliedIsNotMadeAgain) {
  for (const int moment : {1, 2, 3}) {
    ApplyDesk desk;
    if (!ids_last(desk)) GTEST_SKIP() << "fact missing: the file system's numbers of directories do not last";
    fs::create_directory(desk.lower("d"));
    write_file(desk.upper("d/new"), "new");
    expect_captured(desk.capture());
    int asked = 0;
    ApplyOptions options;
    options.cancelled = [&] {
      if (++asked == moment) fs::rename(desk.lower("d"), desk.lower("old"));
      return false;
    };
    const auto outcome = desk.apply(options);
    EXPECT_FALSE(outcome && outcome->applied) << moment;
    EXPECT_FALSE(fs::exists(desk.lower("d"))) << moment;
    EXPECT_TRUE(fs::is_empty(desk.lower("old"))) << moment;
  }
}

TEST(KnownFolders, X6_AModeAndADeletionAreForTheDirectoryThatWasCompared) {
  for (const int moment : {1, 3, 5}) {  // of two entries
    ApplyDesk desk;
    if (!ids_last(desk)) GTEST_SKIP() << "fact missing: the file system's numbers of directories do not last";
    fs::create_directory(desk.lower("gone"));
    fs::create_directory(desk.lower("mode"));
    fs::create_directory(desk.upper("mode"));
    ASSERT_EQ(::chmod(desk.upper("mode").c_str(), 0700), 0);
    whiteout(desk.upper("gone"));
    expect_captured(desk.capture());
    int asked = 0;
    ApplyOptions options;
    options.cancelled = [&] {
      if (++asked != moment) return false;
      for (const char* name : {"gone", "mode"}) {
        fs::rename(desk.lower(name), desk.lower(std::string("old-") + name));
        fs::create_directory(desk.lower(name));
      }
      return false;
    };
    const auto outcome = desk.apply(options);
    EXPECT_FALSE(outcome && outcome->applied) << moment;
    for (const char* name : {"gone", "mode", "old-gone", "old-mode"}) {
      struct stat st{};
      ASSERT_EQ(::stat(desk.lower(name).c_str(), &st), 0) << name;
      EXPECT_EQ(st.st_mode & 0777, 0755u) << name;
    }
  }
}

TEST(KnownFolders, X6_ADirectoryThatTheHostOnlyWroteToIsTheSame) {
  ApplyDesk desk;
  work_in(desk);
  expect_captured(desk.capture());
  write_file(desk.lower("d/hosts"), "own");
  write_file(desk.lower("d/deep/hosts"), "own");
  ASSERT_EQ(::chmod(desk.lower("d").c_str(), 0700), 0);
  fs::rename(desk.lower("d"), desk.lower("away"));
  fs::rename(desk.lower("away"), desk.lower("d"));
  expect_done(desk.apply());
  EXPECT_EQ(read(desk.lower("d/changed")), "new");
}

}  // namespace
}  // namespace cloche::files
