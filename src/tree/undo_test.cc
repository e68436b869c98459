// Somebody moves directories about while an application is carried out: it is undone in the directories that it
// changed, and what cannot be undone is told by name.
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tree/apply.h"
#include "tree/test_support.h"

namespace cloche::tree {
namespace {

constexpr int kFiles = 10;

bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

std::string name_of(int number) { return "d/f" + std::to_string(number); }

// Files that are replaced, one that goes and one that comes, a directory that goes, one that comes and one that
// changes.
void build(const TempTree& tree) {
  tree.folder("d");
  tree.folder("d/closed", 0555);
  tree.folder("d/goes");
  tree.file("d/goes/x", "old");
  tree.file("d/gone", "old");
  for (int i = 0; i < kFiles; ++i) tree.file(name_of(i), "old");
}

std::vector<Change> changes_for(const TempTree& tree) {
  std::vector<Change> changes = proposal(add("d/added", "new"), remove_now(tree, "d/gone"), remove_now(tree, "d/goes"),
                                         remove_now(tree, "d/goes/x"), replace_now(tree, add_folder("d/closed", 0755)),
                                         add_folder("d/comes"), add("d/comes/x", "new"));
  for (int i = 0; i < kFiles; ++i) changes.push_back(replace_now(tree, add(name_of(i), "new")));
  return changes;
}

Picture renamed(const Picture& picture, const std::string& from, const std::string& to) {
  Picture out;
  for (const auto& [path, what] : picture) {
    out[path == from || path.starts_with(from + "/") ? to + path.substr(from.size()) : path] = what;
  }
  return out;
}

TEST(Undo, X6_ADirectoryThatIsRenamedMeanwhileIsAsItWasUnderItsNewName) {
  for (const char* at : {"take d/goes", "put d/added", "swap d/f5", "put d/comes/x"}) {
    const TempTree tree(quick_place());
    build(tree);
    const Picture wanted = renamed(tree.picture(), "d", "d2");
    Options options;
    options.progress = [&](std::string_view step) {
      if (step == at) fs::rename(tree.path("d"), tree.path("d2"));
    };
    const auto result = try_apply(tree.fd(), changes_for(tree), options);
    ASSERT_FALSE(result) << at;
    EXPECT_TRUE(says(result.error().text(), "as it was")) << result.error().text();
    EXPECT_EQ(tree.picture(), wanted) << at;
    EXPECT_FALSE(tree.staging_exists());
  }
}

TEST(Undo, X6_ADirectoryThatIsSwappedForAnotherAndBackIsAsItWas) {
  const TempTree tree(quick_place());
  build(tree);
  tree.folder("other");
  tree.file("other/mine", "mine");
  const Picture before = tree.picture();
  const auto swap = [&] {
    ASSERT_EQ(::renameat2(AT_FDCWD, tree.path("d").c_str(), AT_FDCWD, tree.path("other").c_str(), RENAME_EXCHANGE), 0);
  };
  bool swapped = false;
  Options options;
  options.progress = [&](std::string_view step) {
    if (step == "swap d/f5" || (step == "settle" && swapped)) {
      swap();
      swapped = true;
    }
  };
  const auto result = try_apply(tree.fd(), changes_for(tree), options);
  ASSERT_FALSE(result);
  EXPECT_TRUE(says(result.error().text(), "as it was")) << result.error().text();
  EXPECT_EQ(tree.picture(), before);
}

// More directories than are held open: the first ones are found by their paths.
TEST(Undo, X6_ManyDirectoriesComeBack) {
  const TempTree tree(quick_place());
  std::vector<Change> changes = proposal(add("zlast", "new"));
  for (int i = 0; i < 400; ++i) {
    const std::string folder = "d" + std::to_string(i);
    tree.folder(folder);
    tree.file(folder + "/a", "old");
    changes.push_back(replace_now(tree, add(folder + "/a", "new")));
  }
  const Picture before = tree.picture();
  Options options;
  options.progress = [&](std::string_view step) {
    if (step == "put zlast") fs::rename(tree.path("d399"), tree.path("moved"));
    if (step == "put zlast") tree.file("zlast", "mine");
  };
  ASSERT_FALSE(try_apply(tree.fd(), changes, options));
  Picture wanted = renamed(before, "d399", "moved");
  wanted["zlast"] = "file 420 mine";
  EXPECT_EQ(tree.picture(), wanted);
}

// Nor does anything go into another directory that has the path of one that is not held open any more.
TEST(Undo, X6_NothingIsPutIntoADirectoryOfSomebodyElse) {
  const TempTree tree(quick_place());
  std::vector<Change> changes = proposal(add("zlast", "new"));
  for (int i = 100; i < 500; ++i) {
    const std::string folder = "d" + std::to_string(i);
    tree.folder(folder);
    tree.file(folder + "/a", "old");
    changes.push_back(i == 100 ? remove_now(tree, folder + "/a") : replace_now(tree, add(folder + "/a", "new")));
  }
  tree.folder("other");
  Options options;
  options.progress = [&](std::string_view step) {
    if (step != "put zlast") return;
    ASSERT_EQ(::renameat2(AT_FDCWD, tree.path("d100").c_str(), AT_FDCWD, tree.path("other").c_str(), RENAME_EXCHANGE),
              0);
    tree.file("zlast", "mine");
  };
  const auto result = try_apply(tree.fd(), changes, options);
  ASSERT_FALSE(result);
  EXPECT_FALSE(says(result.error().text(), "as it was")) << result.error().text();
  EXPECT_TRUE(says(result.error().text(), "d100/a")) << result.error().text();
  EXPECT_FALSE(fs::exists(tree.path("d100/a"))) << "which is the other one now";
}

// What was taken out of a directory that went, too, goes to the one that somebody made in its place.
TEST(Undo, X6_ADirectoryThatSomebodyMadeAnewGetsWhatWasInTheOldOne) {
  const TempTree tree(quick_place());
  tree.folder("d");
  tree.file("d/x", "old");
  Options options;
  options.progress = [&](std::string_view step) {
    if (step != "put zlast") return;
    tree.folder("d");
    tree.file("d/mine", "mine");
    tree.file("zlast", "mine");
  };
  const auto changes = proposal(remove_now(tree, "d"), remove_now(tree, "d/x"), add("zlast", "new"));
  ASSERT_FALSE(try_apply(tree.fd(), changes, options));
  EXPECT_EQ(
      tree.picture(),
      (Picture{
          {"d", "directory 493"}, {"d/mine", "file 420 mine"}, {"d/x", "file 420 old"}, {"zlast", "file 420 mine"}}));
}

// After a crash there are the paths alone.
TEST(Undo, X6_WhatARecoveryCannotUndoIsNamedAndNotCalledAsItWas) {
  const TempTree tree(quick_place());
  build(tree);
  const auto changes = changes_for(tree);
  ends_at("swap d/f5", [&](const Options& options) { (void)try_apply(tree.fd(), changes, options); });
  fs::rename(tree.path("d"), tree.path("d2"));
  const auto recovered = try_recover(tree.fd());
  ASSERT_TRUE(recovered) << recovered.error().text();
  EXPECT_EQ(recovered->outcome, Recovery::kRolledBack);
  const std::string& reason = recovered->reason;
  EXPECT_TRUE(says(reason, "the directory of d/f0 is not there any more")) << reason;
  EXPECT_TRUE(says(reason, "kept as f0.cloche-old")) << reason;
  EXPECT_TRUE(says(reason, "not taken back")) << reason;
  for (const char* path : {"d/added", "d/comes", "d/f0", "d/f4"}) EXPECT_TRUE(says(reason, path)) << reason;
  EXPECT_FALSE(says(reason, "d/f5")) << reason;
  EXPECT_FALSE(says(reason, "as it was")) << reason;
  EXPECT_EQ(bytes_of(tree.path("d2/f0")), "new");
  EXPECT_EQ(bytes_of(tree.path("f0.cloche-old")), "old");
}

TEST(Undo, X6_WhatOthersUseByNowIsNamed) {
  const TempTree tree(quick_place());
  Options options;
  options.progress = [&](std::string_view step) {
    if (step != "put z") return;
    tree.file("added", "edited");
    tree.file("z", "mine");
  };
  const auto result = try_apply(tree.fd(), proposal(add("added", "new"), add("z", "1")), options);
  ASSERT_FALSE(result);
  EXPECT_TRUE(
      says(result.error().text(), "not taken back, because somebody else moved, removed, changed or uses it: added"))
      << result.error().text();
  EXPECT_FALSE(says(result.error().text(), "as it was")) << result.error().text();
}

}  // namespace
}  // namespace cloche::tree
