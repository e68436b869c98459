#include "tree/protected_changes.h"

#include <gtest/gtest.h>

#include <set>

#include "tree/test_support.h"

namespace cloche::tree {
namespace {

using Paths = std::set<std::string>;

NamedChange named(std::string_view path, FileKind kind = FileKind::kRegular) { return {path, kind, false}; }
NamedChange folder(std::string_view path) { return named(path, FileKind::kDirectory); }
NamedChange gone(std::string_view path, FileKind kind = FileKind::kRegular) { return {path, kind, true}; }

Paths protected_of(int root, const std::vector<NamedChange>& changes) {
  const auto reasons = why_protected(root, changes);
  Paths paths;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (reasons.at(i)) paths.emplace(changes[i].path);
  }
  return paths;
}

// A bare repository of the host's.
void repository(const TempTree& tree, const std::string& name) {
  tree.folder(name);
  tree.file(name + "/HEAD", "ref: refs/heads/main\n");
  tree.folder(name + "/objects");
  tree.folder(name + "/refs");
}

TEST(ProtectedChanges, ARepositoryOfAnyNameIsProtectedAsAWhole) {
  const TempTree tree;
  EXPECT_EQ(protected_of(tree.fd(), {folder("bare"), named("bare/HEAD"), named("bare/config"),
                                     named("bare/description"), folder("bare/hooks"), named("bare/hooks/a/b"),
                                     folder("bare/objects"), folder("bare/refs"), named("bare/refs/main"), named("x")}),
            (Paths{"bare/HEAD", "bare/config", "bare/hooks", "bare/hooks/a/b", "bare/objects", "bare/refs",
                   "bare/refs/main"}));
  // The tree itself, and without anybody who names the directories.
  EXPECT_EQ(protected_of(tree.fd(), {named("HEAD"), named("config"), named("objects/x"), named("refs/x")}),
            (Paths{"HEAD", "config", "objects/x", "refs/x"}));
}

TEST(ProtectedChanges, OneNameMissingIsNoRepository) {
  const TempTree tree;
  for (const std::size_t missing : {0u, 1u, 2u}) {
    std::vector<NamedChange> changes{named("b/HEAD"), folder("b/objects"), folder("b/refs")};
    changes.erase(changes.begin() + static_cast<std::ptrdiff_t>(missing));
    changes.push_back(named("b/config"));
    changes.push_back(named("b/hooks/x"));
    EXPECT_EQ(protected_of(tree.fd(), changes), Paths{}) << missing;
  }
  // A directory is no HEAD, and names in different directories are no repository.
  EXPECT_EQ(protected_of(tree.fd(), {folder("b/HEAD"), folder("b/objects"), folder("b/refs"), named("b/config")}),
            Paths{});
  EXPECT_EQ(protected_of(tree.fd(), {named("a/HEAD"), folder("b/objects"), folder("b/refs"), named("b/config")}),
            Paths{});
}

TEST(ProtectedChanges, WhatTheHostHasCounts) {
  const TempTree tree;
  repository(tree, "bare");
  const Paths obeyed{"bare/config",         "bare/config.worktree", "bare/commondir",
                     "bare/gitdir",         "bare/hooks/x",         "bare/rebase-merge/git-rebase-todo",
                     "bare/rebase-apply/x", "bare/sequencer/todo"};
  for (const std::string& path : obeyed) EXPECT_EQ(protected_of(tree.fd(), {named(path)}), Paths{path});
  EXPECT_EQ(protected_of(kNoTree, {named("bare/config")}), Paths{});
  // As in a .git: commits are harmless.
  EXPECT_EQ(protected_of(tree.fd(), {named("bare/refs/heads/main"), named("bare/objects/ab/c"),
                                     named("bare/packed-refs"), named("bare/info/attributes")}),
            Paths{});
}

TEST(ProtectedChanges, TheLastMissingNameIsProtected) {
  for (const char* last : {"HEAD", "objects", "refs"}) {
    const TempTree tree;
    repository(tree, "bare");
    tree.file("bare/config", "[core]\n");
    fs::remove_all(tree.path("bare/" + std::string(last)));
    const std::string path = "bare/" + std::string(last);
    EXPECT_EQ(protected_of(tree.fd(), {named(path)}), Paths{path});
    EXPECT_EQ(protected_of(tree.fd(), {named(path, FileKind::kSymlink)}), Paths{path});
    if (path != "bare/HEAD") {
      EXPECT_EQ(protected_of(tree.fd(), {folder(path)}), Paths{path});
      EXPECT_EQ(protected_of(tree.fd(), {named(path + "/x")}), Paths{path + "/x"});
    }
  }
}

TEST(ProtectedChanges, LinksOnTheHostCountAsWhatTheyLeadTo) {
  const TempTree tree;
  tree.folder("bare");
  tree.link("bare/HEAD", "refs/heads/main");
  tree.link("bare/objects", "/nowhere");
  tree.link("bare/refs", "/nowhere");
  EXPECT_EQ(protected_of(tree.fd(), {named("bare/config")}), Paths{"bare/config"});
}

TEST(ProtectedChanges, ACommonDirStandsForTheOtherTwo) {
  const TempTree tree;
  EXPECT_EQ(protected_of(tree.fd(),
                         {named("w/HEAD"), named("w/commondir"), named("w/config.worktree"), named("other/config")}),
            (Paths{"w/HEAD", "w/commondir", "w/config.worktree"}));
}

TEST(ProtectedChanges, WhatGoesIsTakenToBeThereStill) {
  const TempTree tree;
  repository(tree, "bare");
  tree.file("bare/config", "[core]\n");
  // The deletion may be left out when parts are applied.
  EXPECT_EQ(protected_of(tree.fd(), {gone("bare/HEAD"), named("bare/config")}), Paths{"bare/config"});
  // As in a .git: what is obeyed needs a word to be deleted, what is only data does not.
  EXPECT_EQ(protected_of(tree.fd(), {gone("bare/HEAD"), gone("bare/config"), gone("bare/objects/x"),
                                     gone("bare/objects", FileKind::kDirectory)}),
            Paths{"bare/config"});
}

TEST(ProtectedChanges, BelowADotGitItsOwnRulesHold) {
  const TempTree tree;
  EXPECT_EQ(protected_of(tree.fd(), {named(".git/HEAD"), folder(".git/objects"), folder(".git/refs"),
                                     named(".git/config"), named(".git/modules/m/HEAD")}),
            Paths{".git/config"});
}

TEST(ProtectedChanges, OtherSpellingsCount) {
  const TempTree tree;
  const std::vector<NamedChange> changes{named("b/head"), folder("b/Objects"), folder("b/REFS"),
                                         named("b/Con\xef\xac\x81g")};
  EXPECT_EQ(protected_of(tree.fd(), changes).size(), 4u);
}

TEST(ProtectedChanges, APlaceThatCannotBeLookedAtMayHoldAnything) {
  if (::geteuid() == 0) return;  // root looks everywhere; ctest runs this as an ordinary user, too
  const TempTree tree;
  tree.folder("closed", 0600);
  EXPECT_EQ(protected_of(tree.fd(), {named("closed/config")}), Paths{"closed/config"});
  tree.folder("open");
  EXPECT_EQ(protected_of(tree.fd(), {named("open/config")}), Paths{});
}

}  // namespace
}  // namespace cloche::tree
