// Another process of the machine works against the application: it plants links, swaps directories, writes journals.
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <random>
#include <thread>

#include "tree/apply.h"
#include "tree/journal.h"
#include "tree/test_support.h"

namespace cloche::tree {
namespace {

using std::chrono::steady_clock;

void exchange(const std::string& one, const std::string& other) {
  (void)::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE);
}

// What the proposal names, in the same state as in the tree: a step that goes astray finds what it looks for.
void bait(const TempTree& tree) {
  fs::create_directories(tree.victim("deep/folder"));
  for (const char* name : {"deep/changed", "deep/gone"}) std::ofstream(tree.victim(name)) << "old";
}

std::vector<Change> inside(const std::string& folder) {
  const auto old_state = regular_state("old", 0644);
  std::vector<Change> changes = proposal(add(folder + "/added", "new"), add(folder + "/changed", "new"),
                                         Change{folder + "/gone", old_state, std::nullopt, {}});
  changes[1].before = old_state;
  changes.push_back({folder + "/folder", directory_state(0755), directory_state(0700), {}});
  return changes;
}

void fill(const TempTree& tree, const std::string& folder) {
  tree.file(folder + "/changed", "old");
  tree.file(folder + "/gone", "old");
  (void)::unlink(tree.path(folder + "/added").c_str());
  (void)::mkdir(tree.path(folder + "/folder").c_str(), 0755);
  (void)::chmod(tree.path(folder + "/folder").c_str(), 0755);
}

// The links are relative: an absolute one starts at the host's root, which is often another mount and refused as such.
TEST(Hostile, AParentThatIsSwappedForALinkLeadsNowhere) {
  const TempTree tree(quick_place());
  bait(tree);
  const Picture victim = tree.victim_picture();
  tree.folder("a");
  tree.folder("a/deep");
  tree.link("b", "../victim");
  std::atomic<bool> stop = false;
  std::atomic<bool> pause = false;
  std::atomic<bool> paused = false;
  std::thread swapper([&] {
    std::minstd_rand random(1);
    while (!stop) {
      paused = pause.load();
      if (!paused) exchange(tree.path("a"), tree.path("b"));
      // As often as there are steps, more or less: who swaps quicker is never found in time.
      const auto until = steady_clock::now() + std::chrono::microseconds(random() % 60);
      while (steady_clock::now() < until) continue;
    }
  });
  // A second adversary that is sure to come in between the steps, however the threads are scheduled.
  std::minstd_rand random(2);
  Options options;
  options.progress = [&](std::string_view) {
    if (random() % 8 == 0) exchange(tree.path("a"), tree.path("b"));
  };
  int applied = 0;
  int failed = 0;
  const auto end = steady_clock::now() + std::chrono::seconds(4);
  for (int round = 0; round < 3000 && steady_clock::now() < end; ++round) {
    pause = true;
    while (!paused) std::this_thread::yield();
    if (fs::is_symlink(tree.path("a"))) exchange(tree.path("a"), tree.path("b"));
    (void)try_recover(tree.fd());
    fill(tree, "a/deep");
    pause = false;
    const auto result = try_apply(tree.fd(), inside("a/deep"), options);
    ++(result && result->applied ? applied : failed);
    EXPECT_EQ(tree.victim_picture(), victim) << "round " << round;
    if (testing::Test::HasFailure()) break;
  }
  stop = true;
  swapper.join();
  RecordProperty("applied", applied);
  RecordProperty("failed", failed);
  if (fs::is_symlink(tree.path("a"))) exchange(tree.path("a"), tree.path("b"));
  ASSERT_TRUE(try_recover(tree.fd()));
  EXPECT_FALSE(tree.staging_exists());
  EXPECT_EQ(tree.victim_picture(), victim);
}

TEST(Hostile, AFileThatIsSwappedForALinkIsNotWrittenThrough) {
  const TempTree tree(quick_place());
  std::ofstream(tree.victim("target")) << "victim";
  const Picture victim = tree.victim_picture();
  tree.link("link", tree.victim("target"));
  tree.file("a", "old");
  std::atomic<bool> stop = false;
  std::thread swapper([&] {
    while (!stop) exchange(tree.path("a"), tree.path("link"));
  });
  Options force;
  force.force = true;
  const auto end = steady_clock::now() + std::chrono::seconds(2);
  for (int round = 0; round < 2000 && steady_clock::now() < end; ++round) {
    (void)try_apply(tree.fd(), proposal(add("a", "new " + std::to_string(round))), force);
    EXPECT_EQ(tree.victim_picture(), victim) << "round " << round;
    if (testing::Test::HasFailure()) break;
    // Both are needed for a swap.
    if (!fs::is_symlink(tree.path("a")) && !fs::is_symlink(tree.path("link"))) {
      fs::remove(tree.path("link"));
      tree.link("link", tree.victim("target"));
    }
  }
  stop = true;
  swapper.join();
}

// At each step of carrying out: the parent becomes a link, and everything is undone once it is back.
TEST(Hostile, AParentThatBecomesALinkInBetweenIsUndone) {
  for (const std::string at : {"take a/deep/gone", "put a/deep/added", "swap a/deep/changed"}) {
    const TempTree tree(quick_place());
    bait(tree);
    tree.folder("a");
    tree.folder("a/deep");
    tree.link("b", "../victim");
    fill(tree, "a/deep");
    const Picture before = tree.picture();
    const Picture victim = tree.victim_picture();
    Options options;
    options.progress = [&](std::string_view step) {
      if (step == at || step == "undo") exchange(tree.path("a"), tree.path("b"));
    };
    const auto result = try_apply(tree.fd(), inside("a/deep"), options);
    ASSERT_FALSE(result) << at;
    EXPECT_EQ(result.error().errno_value, ELOOP) << result.error().text();
    EXPECT_NE(result.error().text().find("as it was"), std::string::npos);
    EXPECT_EQ(tree.picture(), before) << at;
    EXPECT_EQ(tree.victim_picture(), victim);
  }
}

// As long as the link stays there is no way back, but nothing is lost: the journal waits.
TEST(Hostile, WhatCannotBeUndoneYetIsUndoneLater) {
  const TempTree tree(quick_place());
  tree.folder("a");
  tree.link("b", "../victim");
  fill(tree, "a");
  const Picture before = tree.picture();
  // In another process, so that nothing is left but the paths.
  ends_at("put a/added", [&](const Options& options) { (void)try_apply(tree.fd(), inside("a"), options); });
  exchange(tree.path("a"), tree.path("b"));
  const auto result = try_recover(tree.fd());
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().text().find("could not be undone"), std::string::npos) << result.error().text();
  EXPECT_NE(result.error().text().find("open a:"), std::string::npos) << result.error().text();
  EXPECT_TRUE(tree.staging_exists());
  EXPECT_FALSE(try_recover(tree.fd()));
  exchange(tree.path("a"), tree.path("b"));
  const auto recovered = try_recover(tree.fd());
  ASSERT_TRUE(recovered) << recovered.error().text();
  EXPECT_EQ(recovered->outcome, Recovery::kRolledBack);
  EXPECT_EQ(tree.picture(), before);
  EXPECT_TRUE(tree.victim_picture().empty());
}

TEST(Hostile, AFileThatAppearsInADirectoryThatGoesIsKept) {
  const TempTree tree(quick_place());
  tree.folder("d");
  Options options;
  options.progress = [&](std::string_view step) {
    if (step == "take d") tree.file("d/mine", "x");
  };
  const auto result = try_apply(tree.fd(), proposal(remove_now(tree, "d"), add("z", "1")), options);
  ASSERT_FALSE(result);
  EXPECT_EQ(tree.picture(), (Picture{{"d", "directory 493"}, {"d/mine", "file 420 x"}}));
}

// What others made of new things before those were undone is theirs.
TEST(Hostile, UndoingTakesAwayNothingThatOthersUse) {
  const TempTree tree(quick_place());
  Options options;
  options.progress = [&](std::string_view step) {
    if (step != "put z") return;
    tree.file("added", "edited");
    tree.file("folder/mine", "mine");
    tree.file("z", "mine");
  };
  ASSERT_FALSE(try_apply(tree.fd(),
                         proposal(add("added", "new"), add_folder("folder"), add("folder/new", "new"), add("z", "1")),
                         options));
  EXPECT_EQ(tree.picture(), (Picture{{"added", "file 420 edited"},
                                     {"folder", "directory 493"},
                                     {"folder/mine", "file 420 mine"},
                                     {"z", "file 420 mine"}}));
}

bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

// Files go, and when the last one is to come, somebody has its place and that of one of the others.
TEST(Hostile, X6_OneOccupiedPlaceKeepsNoOtherFileFromComingBack) {
  const TempTree tree(quick_place());
  tree.folder("d");
  std::vector<Change> changes = proposal(add("zlast", "new"));
  for (const char* name : {"a", "b", "d/c", "e"}) {
    tree.file(name, "old");
    changes.push_back(remove_now(tree, name));
  }
  tree.file("d/c.cloche-old", "of another day");
  Options options;
  options.progress = [&](std::string_view step) {
    if (step != "put zlast") return;
    tree.file("d/c", "mine");
    tree.file("zlast", "mine");
  };
  const auto result = try_apply(tree.fd(), changes, options);
  ASSERT_FALSE(result);
  EXPECT_TRUE(says(result.error().text(), "somebody else wrote d/c meanwhile")) << result.error().text();
  EXPECT_TRUE(says(result.error().text(), "kept as d/c.cloche-old-2")) << result.error().text();
  EXPECT_FALSE(says(result.error().text(), "as it was")) << result.error().text();
  const Picture wanted{{"a", "file 420 old"},
                       {"b", "file 420 old"},
                       {"d", "directory 493"},
                       {"d/c", "file 420 mine"},
                       {"d/c.cloche-old", "file 420 of another day"},
                       {"d/c.cloche-old-2", "file 420 old"},
                       {"e", "file 420 old"},
                       {"zlast", "file 420 mine"}};
  EXPECT_EQ(tree.picture(), wanted);
  expect_applied(try_apply(tree.fd(), proposal(add("next", "1"))));
}

TEST(Hostile, X6_WhatWasReplacedAndEditedByOthersIsKeptBeside) {
  const TempTree tree(quick_place());
  tree.file("a", "old");
  tree.file("b", "old");
  tree.folder("d");
  tree.file("d/gone", "old");
  Options options;
  options.progress = [&](std::string_view step) {
    if (step != "put zlast") return;
    tree.file("a", "edited");
    fs::remove_all(tree.path("d"));
    tree.file("zlast", "mine");
  };
  const auto changes = proposal(replace_now(tree, add("a", "new")), replace_now(tree, add("b", "new")),
                                remove_now(tree, "d/gone"), add("zlast", "new"));
  const auto result = try_apply(tree.fd(), changes, options);
  ASSERT_FALSE(result);
  EXPECT_EQ(tree.picture(), (Picture{{"a", "file 420 edited"},
                                     {"a.cloche-old", "file 420 old"},
                                     {"b", "file 420 old"},
                                     {"gone.cloche-old", "file 420 old"},
                                     {"zlast", "file 420 mine"}}))
      << result.error().text();
}

// Nobody who opens a file at any moment finds it missing: neither while it is replaced, nor while that is undone.
TEST(Hostile, X6_AFileThatIsReplacedIsThereAtEveryStep) {
  for (const bool undone : {false, true}) {
    const TempTree tree(quick_place());
    tree.file("a", "old");
    tree.link("link", "old");
    int missing = 0;
    Options options;
    options.progress = [&](std::string_view step) {
      for (const char* name : {"a", "link"}) missing += fs::exists(fs::symlink_status(tree.path(name))) ? 0 : 1;
      if (undone && step == "put zlast") tree.file("zlast", "mine");
    };
    const auto changes =
        proposal(replace_now(tree, add("a", "new")), replace_now(tree, add_link("link", "new")), add("zlast", "new"));
    EXPECT_EQ(try_apply(tree.fd(), changes, options).has_value(), !undone);
    EXPECT_EQ(missing, 0);
    EXPECT_EQ(bytes_of(tree.path("a")), undone ? "old" : "new");
  }
}

TEST(Hostile, AFileThatIsExchangedAfterTheCheckIsPutBack) {
  const TempTree tree(quick_place());
  tree.file("a", "old");
  Options options;
  options.progress = [&](std::string_view step) {
    if (step == "swap a") tree.file("a", "other");
  };
  const auto result = try_apply(tree.fd(), proposal(replace_now(tree, add("a", "new"))), options);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().text().find("changed by somebody else"), std::string::npos) << result.error().text();
  EXPECT_EQ(tree.picture(), (Picture{{"a", "file 420 other"}}));
}

// A new link often gets the inode of the one that was removed just before.
TEST(Hostile, X6_ALinkThatIsReplacedAfterTheCheckIsPutBack) {
  for (const char* at : {"swap link", "take gone"}) {
    const TempTree tree;
    tree.link("link", "old");
    tree.link("gone", "old");
    const std::string name = std::string(at).substr(5);
    Options options;
    options.progress = [&](std::string_view step) {
      if (step != at) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the kernel's clock for files is a coarse one
      ASSERT_EQ(::unlink(tree.path(name).c_str()), 0);
      tree.link(name, "own");
    };
    const auto changes = proposal(remove_now(tree, "gone"), replace_now(tree, add_link("link", "new")));
    const auto result = try_apply(tree.fd(), changes, options);
    ASSERT_FALSE(result) << at;
    EXPECT_TRUE(says(result.error().text(), "changed by somebody else")) << result.error().text();
    Picture wanted{{"gone", "link old"}, {"link", "link old"}};
    wanted[name] = "link own";
    EXPECT_EQ(tree.picture(), wanted) << at;
  }
}

TEST(Hostile, X6_AModeThatIsChangedAfterTheCheckIsAConflict) {
  for (const char* at : {"swap a", "take b"}) {
    const TempTree tree;
    tree.file("a", "old");
    tree.file("b", "old");
    const std::string name = std::string(at).substr(5);
    Options options;
    options.progress = [&](std::string_view step) {
      if (step == at) (void)::chmod(tree.path(name).c_str(), 0600);
    };
    ASSERT_FALSE(try_apply(tree.fd(), proposal(replace_now(tree, add("a", "new")), remove_now(tree, "b")), options))
        << at;
    Picture wanted{{"a", "file 420 old"}, {"b", "file 420 old"}};
    wanted[name] = "file 384 old";
    EXPECT_EQ(tree.picture(), wanted) << at;
  }
}

TEST(Hostile, AStagingDirectoryThatIsNotOursIsNotUsed) {
  const auto refuses = [](const TempTree& tree) {
    const Picture before = tree.picture();
    EXPECT_FALSE(try_apply(tree.fd(), proposal(add("a", "1"))));
    EXPECT_FALSE(try_recover(tree.fd()));
    EXPECT_EQ(tree.picture(), before);
    EXPECT_TRUE(tree.victim_picture().empty());
  };
  const TempTree linked;
  linked.link(".cloche-apply", linked.victim());
  ASSERT_EQ(::chmod(linked.victim().c_str(), 0700), 0);
  refuses(linked);
  const TempTree file;
  file.file(".cloche-apply", "x");
  refuses(file);
  const TempTree open;
  open.folder(".cloche-apply", 0755);
  refuses(open);
}

void plant(const TempTree& tree, const Journal& journal, const std::string& name = "journal",
           const KeySource& source = test_source()) {
  tree.folder(".cloche-apply", 0700);
  tree.file(".cloche-apply/n0", "planted");
  const Fd staging(::open(tree.path(".cloche-apply").c_str(), O_PATH | O_CLOEXEC));
  const auto seal = begin_seal(tree.fd(), staging.get(), source);
  ASSERT_TRUE(seal) << seal.error().text();
  tree.file(".cloche-apply/" + name, encode_journal(journal, *seal));
}

// Nothing is carried out, nothing is undone, nothing is tidied up, and the error says what to do.
void expect_left_alone(const TempTree& tree, const Options& options = {}) {
  const Picture before = tree.picture();
  const auto recovered = try_recover(tree.fd(), options);
  ASSERT_FALSE(recovered);
  EXPECT_EQ(recovered.error().code, ErrorCode::kRefused);
  EXPECT_TRUE(says(recovered.error().text(), "nothing was touched")) << recovered.error().text();
  const auto applied = try_apply(tree.fd(), proposal(add("a", "1")), options);
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code, ErrorCode::kRefused);
  EXPECT_EQ(tree.picture(), before);
}

// A guest that may write to the tree makes such a directory under the user's own name; a repository may bring one.
TEST(Hostile, R4_AJournalOfSomebodyElseIsNeitherCarriedOutNorUndone) {
  const Thing file{FileKind::kRegular, 0755, {}};
  const Journal hook{{".git/hooks/pre-commit", std::nullopt, file}};
  KeySource guessed = test_source();
  guessed.key = [] { return Result<sys::HmacKey>(sys::HmacKey{}); };
  for (const char* name : {"journal", "journal.undo"}) {
    const TempTree tree;
    fs::create_directories(tree.path(".git/hooks"));
    plant(tree, hook, name, guessed);
    expect_left_alone(tree);
  }
  // As versions before this one wrote it, with a digest that anybody can write.
  const TempTree older;
  plant(older, hook);
  std::string bytes = "cloche-apply 1\n" + std::string(8, '\0');
  const sys::Digest digest = sys::sha256(bytes);
  bytes.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  older.file(".cloche-apply/journal", bytes);
  expect_left_alone(older);
}

TEST(Hostile, R4_AJournalThatWasCopiedFromAnotherTreeIsNone) {
  const TempTree other;
  plant(other, {{"a", std::nullopt, Thing{FileKind::kRegular, 0644, {}}}});
  const TempTree tree;
  tree.folder(".cloche-apply", 0700);
  for (const char* name : {".cloche-apply/journal", ".cloche-apply/n0"}) tree.file(name, bytes_of(other.path(name)));
  expect_left_alone(tree);
  // Nor is one whose staging directory was moved here, or made anew in the same tree.
  const TempTree moved;
  fs::rename(other.path(".cloche-apply"), moved.path(".cloche-apply"));
  expect_left_alone(moved);
}

// Whoever writes to the tree can keep the staging directory, the journal and what was taken, all as they were.
TEST(Hostile, R4_AJournalThatIsPutBackAfterItsEndIsNone) {
  for (const char* name : {"journal", "journal.undo"}) {
    const TempTree tree;
    tree.file("a", "old");
    const std::string staging = tree.path(".cloche-apply");
    std::string journal;
    Options options;
    options.progress = [&](std::string_view step) {
      if (step != "done") return;
      journal = bytes_of(staging + "/journal");
      fs::create_hard_link(staging + "/o0", tree.victim("old"));
      fs::rename(staging, tree.victim("staging"));
    };
    expect_applied(try_apply(tree.fd(), proposal(replace_now(tree, add("a", "new"))), options));
    ASSERT_FALSE(journal.empty());
    fs::rename(tree.victim("staging"), staging);
    fs::rename(tree.victim("old"), staging + "/o0");
    tree.file(std::string(".cloche-apply/") + name, journal);
    expect_left_alone(tree);
    EXPECT_EQ(bytes_of(tree.path("a")), "new");
  }
}

TEST(Hostile, R4_WithoutAKeyNothingIsAppliedAndNoJournalCounts) {
  const TempTree tree;
  Options none;
  none.key = test_source();
  none.key.key = []() -> Result<sys::HmacKey> { return fail(ErrorCode::kSystem, "key", "there is none"); };
  const auto applied = try_apply(tree.fd(), proposal(add("a", "1")), none);
  ASSERT_FALSE(applied);
  EXPECT_TRUE(says(applied.error().text(), "there is none; the tree is as it was")) << applied.error().text();
  EXPECT_TRUE(tree.picture().empty());
  EXPECT_FALSE(tree::apply(tree.fd(), proposal(add("a", "1")), {}));
  plant(tree, {{"a", std::nullopt, Thing{FileKind::kRegular, 0644, {}}}});
  EXPECT_FALSE(try_recover(tree.fd(), none));
  EXPECT_FALSE(fs::exists(tree.path("a")));
}

TEST(Hostile, AJournalThatLeadsOutIsNotFollowedAndNothingIsThrownAway) {
  const Thing file{FileKind::kRegular, 0644, {}};
  for (const char* path : {"../victim/x", "/tmp/cloche-tree-never", "a/../../victim/x"}) {
    const TempTree tree;
    plant(tree, {{path, std::nullopt, file}});
    tree.file(".cloche-apply/o0", "somebody's old file");
    EXPECT_FALSE(try_recover(tree.fd()));
    EXPECT_FALSE(try_apply(tree.fd(), proposal(add("a", "1"))));
    EXPECT_TRUE(tree.victim_picture().empty());
    EXPECT_EQ(bytes_of(tree.path(".cloche-apply/o0")), "somebody's old file");
  }
}

TEST(Hostile, AJournalThatNamesALinksInsideIsRolledBack) {
  const TempTree tree;
  tree.link("l", tree.victim());
  plant(tree, {{"l/x", std::nullopt, Thing{FileKind::kRegular, 0644, {}}}});
  const auto recovered = try_recover(tree.fd());
  ASSERT_TRUE(recovered) << recovered.error().text();
  EXPECT_EQ(recovered->outcome, Recovery::kRolledBack);
  EXPECT_TRUE(tree.victim_picture().empty());
  EXPECT_FALSE(tree.staging_exists());
}

TEST(Hostile, AJournalThatIsAFifoIsNotWaitedFor) {
  const TempTree tree;
  tree.folder(".cloche-apply", 0700);
  ASSERT_EQ(::mkfifo(tree.path(".cloche-apply/journal").c_str(), 0600), 0);
  EXPECT_FALSE(try_recover(tree.fd()));
}

}  // namespace
}  // namespace cloche::tree
