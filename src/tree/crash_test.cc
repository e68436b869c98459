// The process ends at every step in turn: after recover() the tree is the old one or the new one, and nothing is left.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <functional>

#include "tree/apply.h"
#include "tree/test_support.h"

namespace cloche::tree {
namespace {

// A tree with something of everything, and a proposal that changes all of it.
void build(const TempTree& tree) {
  tree.file("changed", "old", 0600);
  tree.file("gone", "old");
  tree.link("link", "old");
  tree.folder("emptied");
  tree.file("emptied/one", "1");
  tree.folder("becomes_file");
  tree.file("becomes_file/inside", "2");
  tree.file("becomes_folder", "3");
  tree.link("link_becomes_folder", "stays");
  tree.folder("stays", 0755);
  tree.file("stays/kept", "4");
  tree.folder("opens", 0755);
  tree.file("opens/gone", "5");
  ASSERT_EQ(::chmod(tree.path("opens").c_str(), 0555), 0);
  ASSERT_EQ(::chmod(tree.path("emptied").c_str(), 0555), 0);
}

std::vector<Change> changes_for(const TempTree& tree) {
  return proposal(replace_now(tree, add("changed", "new", 0644)), remove_now(tree, "gone"),
                  replace_now(tree, add_link("link", "new")), remove_now(tree, "emptied"),
                  remove_now(tree, "emptied/one"), remove_now(tree, "becomes_file/inside"),
                  replace_now(tree, add("becomes_file", "file")), replace_now(tree, add_folder("becomes_folder", 0000)),
                  add("becomes_folder/inside", "new"), add_folder("becomes_folder/deep", 0500),
                  add("becomes_folder/deep/x", "new"), replace_now(tree, add_folder("link_becomes_folder", 0555)),
                  add_folder("link_becomes_folder/deep", 0500), add("link_becomes_folder/deep/x", "new"),
                  replace_now(tree, add_folder("stays", 0500)), add("stays/new", "new"),
                  replace_now(tree, add_folder("opens", 0755)), remove_now(tree, "opens/gone"), add("above/new", "new"),
                  add("zlast", "new"));
}

// Runs `work` in a child that ends at step `stop_at`, as if by kill -9. True: it came to its end before.
using Work = std::function<void(const Options&)>;
bool comes_to_its_end(int stop_at, const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    int step = 0;
    Options options;
    options.progress = [&](std::string_view) {
      if (step++ == stop_at) ::_exit(1);
    };
    work(options);
    ::_exit(0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status) == 0;
}

std::vector<std::string> steps_of(const Work& work) {
  std::vector<std::string> steps;
  Options options;
  options.progress = [&](std::string_view step) { steps.emplace_back(step); };
  work(options);
  return steps;
}

struct Expectation {
  Picture old_picture;
  Picture new_picture;
  std::vector<std::string> steps;
  int commit = 0;  // the step that decides
};

Expectation expectation() {
  Expectation expected;
  const TempTree tree(quick_place());
  build(tree);
  expected.old_picture = tree.picture();
  const auto changes = changes_for(tree);
  expected.steps = steps_of([&](const Options& options) { expect_applied(try_apply(tree.fd(), changes, options)); });
  expected.new_picture = tree.picture();
  expected.commit = static_cast<int>(std::ranges::find(expected.steps, std::string("commit")) - expected.steps.begin());
  return expected;
}

void expect_whole(const TempTree& tree, const Picture& wanted, const std::string& where) {
  EXPECT_EQ(tree.picture(), wanted) << where;
  EXPECT_FALSE(tree.staging_exists()) << where;
}

TEST(Crash, AtEveryStepTheTreeEndsUpOldOrNew) {
  const Expectation expected = expectation();
  ASSERT_NE(expected.old_picture, expected.new_picture);
  ASSERT_GT(expected.steps.size(), 50u);
  for (int stop = 0; stop < static_cast<int>(expected.steps.size()); ++stop) {
    const TempTree tree(quick_place());
    build(tree);
    const auto changes = changes_for(tree);
    ASSERT_FALSE(comes_to_its_end(stop, [&](const Options& o) { (void)try_apply(tree.fd(), changes, o); }));
    const auto recovered = try_recover(tree.fd());
    ASSERT_TRUE(recovered) << recovered.error().text();
    EXPECT_NE(recovered->outcome, Recovery::kRolledBack) << recovered->reason;
    expect_whole(tree, stop <= expected.commit ? expected.old_picture : expected.new_picture, expected.steps[stop]);
  }
}

// For this process, as on a file system that cannot exchange two names.
void refuse_exchanges() {
  constexpr unsigned kFlags = offsetof(seccomp_data, args) + 4 * sizeof(std::uint64_t);
  std::array<sock_filter, 6> code{
      {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 2), BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kFlags),
       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RENAME_EXCHANGE, 1, 0), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL)}};
  const sock_fprog program{code.size(), code.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    ::_exit(3);
  }
}

TEST(Crash, AlsoWhereNothingCanBeExchanged) {
  const Expectation expected = expectation();
  for (int stop = 0;; ++stop) {
    const TempTree tree(quick_place());
    build(tree);
    const auto changes = changes_for(tree);
    const bool ended = comes_to_its_end(stop, [&](const Options& o) {
      refuse_exchanges();
      expect_applied(try_apply(tree.fd(), changes, o));
      if (testing::Test::HasFailure()) ::_exit(2);
    });
    // Both ways of going on: by the same means, and by exchanging what is not done yet.
    if (stop % 2 == 0) {
      ASSERT_TRUE(comes_to_its_end(-1, [&](const Options& o) {
        refuse_exchanges();
        if (!try_recover(tree.fd(), o)) ::_exit(2);
      }));
    } else {
      const auto recovered = try_recover(tree.fd());
      ASSERT_TRUE(recovered) << recovered.error().text();
    }
    expect_whole(tree, stop <= expected.commit ? expected.old_picture : expected.new_picture, std::to_string(stop));
    if (ended) break;
    ASSERT_LT(stop, 500);
  }
}

// The user goes on working after the crash, and what was interrupted has to be undone: around one file of theirs.
TEST(Crash, X6_AFileThatSomebodyMadeSinceKeepsNoOtherFromComingBack) {
  std::vector<std::string> steps;
  for (int stop = -1; stop < static_cast<int>(steps.size()); ++stop) {
    const TempTree tree(quick_place());
    for (const char* name : {"a", "b", "c", "d"}) tree.file(name, "old");
    const auto changes = proposal(replace_now(tree, add("a", "new")), remove_now(tree, "b"), remove_now(tree, "c"),
                                  replace_now(tree, add("d", "new")), add("zlast", "new"));
    const Work work = [&](const Options& o) { (void)try_apply(tree.fd(), changes, o); };
    if (stop < 0) {
      steps = steps_of(work);
      const auto index = [&](std::string_view step) { return std::ranges::find(steps, step) - steps.begin(); };
      steps.resize(static_cast<std::size_t>(index("put zlast")) + 1);
      // By then c is gone.
      stop = static_cast<int>(index("take b")) - 1;
      ASSERT_LT(stop + 1, static_cast<int>(steps.size()));
      continue;
    }
    ASSERT_FALSE(comes_to_its_end(stop, work));
    tree.file("c", "mine");
    tree.file("zlast", "mine");
    const auto recovered = try_recover(tree.fd());
    ASSERT_TRUE(recovered) << recovered.error().text();
    EXPECT_EQ(recovered->outcome, Recovery::kRolledBack);
    EXPECT_NE(recovered->reason.find("kept as c.cloche-old"), std::string::npos) << recovered->reason;
    expect_whole(tree,
                 {{"a", "file 420 old"},
                  {"b", "file 420 old"},
                  {"c", "file 420 mine"},
                  {"c.cloche-old", "file 420 old"},
                  {"d", "file 420 old"},
                  {"zlast", "file 420 mine"}},
                 steps[static_cast<std::size_t>(stop)]);
  }
}

TEST(Crash, InTheMiddleOfARecoveryTheNextOneEndsIt) {
  const Expectation expected = expectation();
  const int size = static_cast<int>(expected.steps.size());
  for (int stop = expected.commit + 1; stop < size; stop += 4) {
    for (int again = 0;; again += 3) {
      const TempTree tree(quick_place());
      build(tree);
      const auto changes = changes_for(tree);
      ASSERT_FALSE(comes_to_its_end(stop, [&](const Options& o) { (void)try_apply(tree.fd(), changes, o); }));
      const bool ended = comes_to_its_end(again, [&](const Options& o) { (void)try_recover(tree.fd(), o); });
      const auto recovered = try_recover(tree.fd());
      ASSERT_TRUE(recovered) << recovered.error().text();
      expect_whole(tree, expected.new_picture, expected.steps[stop] + ", then " + std::to_string(again));
      if (ended) break;
    }
  }
}

// Something new lies where the last file shall go: everything is undone, also when that is interrupted.
TEST(Crash, WhileUndoingTheOldTreeComesBack) {
  Picture old_picture;
  const auto spoil = [](const TempTree& tree, const Options& options) {
    Options spoiling;
    spoiling.progress = [&](std::string_view step) {
      if (step == "put zlast") std::ofstream(tree.path("zlast")) << "mine";
      if (options.progress) options.progress(step);
    };
    return spoiling;
  };
  std::vector<std::string> steps;
  {
    const TempTree tree(quick_place());
    build(tree);
    old_picture = tree.picture();
    const auto changes = changes_for(tree);
    steps = steps_of([&](const Options& options) {
      const auto result = try_apply(tree.fd(), changes, spoil(tree, options));
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().errno_value, EEXIST);
      EXPECT_NE(result.error().text().find("as it was"), std::string::npos) << result.error().text();
    });
    old_picture["zlast"] = "file 420 mine";
    expect_whole(tree, old_picture, "uninterrupted");
  }
  const int first = static_cast<int>(std::ranges::find(steps, std::string("put zlast")) - steps.begin());
  ASSERT_LT(first, static_cast<int>(steps.size()));
  for (int stop = first; stop < static_cast<int>(steps.size()); ++stop) {
    const TempTree tree(quick_place());
    build(tree);
    const auto changes = changes_for(tree);
    ASSERT_FALSE(
        comes_to_its_end(stop, [&](const Options& o) { (void)try_apply(tree.fd(), changes, spoil(tree, o)); }));
    const auto recovered = try_recover(tree.fd());
    ASSERT_TRUE(recovered) << recovered.error().text();
    expect_whole(tree, old_picture, steps[stop]);
  }
}

// All is in place and has its mode when the process ends; then somebody puts another directory where a new one is, so
// that the recovery has to undo, out of directories that are closed to their owner by now.
TEST(Crash, ALateRecoveryUndoesWhatWasAsGoodAsDone) {
  const Expectation expected = expectation();
  const int settle =
      static_cast<int>(std::ranges::find(expected.steps, std::string("settle")) - expected.steps.begin());
  const TempTree tree(quick_place());
  build(tree);
  const auto changes = changes_for(tree);
  ASSERT_FALSE(comes_to_its_end(settle, [&](const Options& o) { (void)try_apply(tree.fd(), changes, o); }));
  fs::remove_all(tree.path("above"));
  tree.folder("above");
  tree.file("above/mine", "mine");
  const auto recovered = try_recover(tree.fd());
  ASSERT_TRUE(recovered) << recovered.error().text();
  EXPECT_EQ(recovered->outcome, Recovery::kRolledBack);
  Picture wanted = expected.old_picture;
  wanted["above"] = "directory 493";
  wanted["above/mine"] = "file 420 mine";
  expect_whole(tree, wanted, "late");
}

TEST(Crash, TheNextApplicationRecoversByItself) {
  const TempTree tree(quick_place());
  tree.file("a", "old");
  const auto first = proposal(replace_now(tree, add("a", "new")), add("b", "new"));
  ASSERT_FALSE(comes_to_its_end(6, [&](const Options& o) { (void)try_apply(tree.fd(), first, o); }));
  ASSERT_TRUE(tree.staging_exists());
  Options force;
  force.force = true;
  const auto second = try_apply(tree.fd(), proposal(add("c", "new")), force);
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_EQ(second->recovered.outcome, Recovery::kFinished);
  expect_whole(tree, {{"a", "file 420 new"}, {"b", "file 420 new"}, {"c", "file 420 new"}}, "second");
}

// The user goes on working after the crash; the recovery comes late and must not take that away.
TEST(Crash, AFileThatWasEditedSinceIsNotLostByALateRecovery) {
  const TempTree tree(quick_place());
  tree.file("a", "old");
  tree.file("b", "old");
  const auto changes = proposal(replace_now(tree, add("a", "new")), replace_now(tree, add("b", "new")));
  int stop = 0;
  std::vector<std::string> steps;
  {
    const TempTree other(quick_place());
    other.file("a", "old");
    other.file("b", "old");
    steps = steps_of([&](const Options& o) { expect_applied(try_apply(other.fd(), changes, o)); });
  }
  stop = static_cast<int>(std::ranges::find(steps, std::string("swap a")) - steps.begin());
  ASSERT_FALSE(comes_to_its_end(stop, [&](const Options& o) { (void)try_apply(tree.fd(), changes, o); }));
  tree.file("a", "edited since");
  const auto recovered = try_recover(tree.fd());
  ASSERT_TRUE(recovered) << recovered.error().text();
  EXPECT_EQ(recovered->outcome, Recovery::kRolledBack);
  EXPECT_NE(recovered->reason.find("changed by somebody else"), std::string::npos) << recovered->reason;
  expect_whole(tree, {{"a", "file 420 edited since"}, {"b", "file 420 old"}}, "late");
}

// Whoever may write to the tree reaches what lies staged in it, in place and with the time of its content set back.
TEST(Crash, R4_WhatWasStagedAndChangedSinceIsNotPutInPlace) {
  const auto overwrite = [](const std::string& path) {
    struct stat st{};
    ASSERT_EQ(::stat(path.c_str(), &st), 0);
    ASSERT_EQ(::truncate(path.c_str(), 0), 0);
    std::ofstream(path) << "bad";
    const std::array<timespec, 2> times{st.st_atim, st.st_mtim};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
  };
  const auto replace = [](const std::string& path) {
    ASSERT_EQ(::unlink(path.c_str()), 0);
    std::ofstream(path) << "bad";
  };
  const auto relink = [](const std::string& path) {
    ASSERT_EQ(::unlink(path.c_str()), 0);
    ASSERT_EQ(::symlink("bad", path.c_str()), 0);
  };
  const auto fill = [](const std::string& path) { std::ofstream(path + "/planted") << "bad"; };
  struct Case {
    Change change;
    std::function<void(const std::string&)> spoil;
  };
  std::vector<Case> cases;
  cases.push_back({add("x", "new"), overwrite});
  cases.push_back({add("x", "new"), replace});
  cases.push_back({add("old", "new"), overwrite});
  cases.push_back({add("old", "new"), replace});
  cases.push_back({add_link("x", "new"), relink});
  cases.push_back({add_folder("x"), fill});
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const TempTree tree;
    tree.file("old", "old");
    const Picture before = tree.picture();
    std::vector<Change> changes;
    changes.push_back(replace_now(tree, std::move(cases[i].change)));
    const std::string last = (changes[0].before ? "swap " : "put ") + changes[0].path;
    ends_at(last, [&](const Options& options) { (void)try_apply(tree.fd(), changes, options); });
    cases[i].spoil(tree.path(".cloche-apply/n0"));
    const auto recovered = try_recover(tree.fd());
    ASSERT_TRUE(recovered) << i << recovered.error().text();
    EXPECT_EQ(recovered->outcome, Recovery::kRolledBack) << i;
    EXPECT_NE(recovered->reason.find("before it was put in place"), std::string::npos) << i << recovered->reason;
    expect_whole(tree, before, "case " + std::to_string(i));
  }
}

// A guest that may write to the tree, but not to a part of it, finds what was taken out of that part in the staging
// directory. What it makes of it gets no name that counts.
TEST(Crash, R4_WhatWasTakenAndChangedSinceIsNotPutBack) {
  const auto rewrite = [](const std::string& path) {
    struct stat st{};
    ASSERT_EQ(::stat(path.c_str(), &st), 0);
    std::ofstream(path) << "bad";
    const std::array<timespec, 2> times{st.st_atim, st.st_mtim};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
  };
  const auto replace = [](const std::string& path) {
    ASSERT_EQ(::unlink(path.c_str()), 0);
    ASSERT_EQ(::symlink("bad", path.c_str()), 0);
  };
  for (const auto& spoil : {std::function<void(const std::string&)>(rewrite), {replace}}) {
    for (const bool deletes : {false, true}) {
      const TempTree tree;
      tree.folder("locked");
      tree.file("locked/x", "old");
      std::vector<Change> changes;
      changes.push_back(deletes ? remove_now(tree, "locked/x") : replace_now(tree, add("locked/x", "new")));
      changes.push_back(add("zlast", "new"));
      ends_at("put zlast", [&](const Options& options) { (void)try_apply(tree.fd(), changes, options); });
      fs::rename(tree.path(".cloche-apply/journal"), tree.path(".cloche-apply/journal.undo"));
      spoil(tree.path(".cloche-apply/o0"));
      const auto recovered = try_recover(tree.fd());
      ASSERT_TRUE(recovered) << recovered.error().text();
      EXPECT_NE(recovered->reason.find("locked/x.cloche-old"), std::string::npos) << recovered->reason;
      EXPECT_FALSE(fs::exists(fs::symlink_status(tree.path("locked/x")))) << tree.picture()["locked/x"];
      EXPECT_TRUE(fs::exists(fs::symlink_status(tree.path("locked/x.cloche-old"))));
    }
  }
}

// On file systems that write late the time of the last change moves by itself.
TEST(Crash, WhatWasStagedAndOnlyTouchedSinceIsPutInPlace) {
  const TempTree tree;
  const auto changes = proposal(add("a", "new"), add_link("l", "new"), add_folder("x"));
  ends_at("put a", [&](const Options& options) { (void)try_apply(tree.fd(), changes, options); });
  for (const char* name : {"n0", "n1", "n2"}) {
    ASSERT_EQ(::lchown(tree.path(std::string(".cloche-apply/") + name).c_str(), ::geteuid(), ::getegid()), 0);
  }
  const auto recovered = try_recover(tree.fd());
  ASSERT_TRUE(recovered) << recovered.error().text();
  EXPECT_EQ(recovered->outcome, Recovery::kFinished) << recovered->reason;
  expect_whole(tree, {{"a", "file 420 new"}, {"l", "link new"}, {"x", "directory 493"}}, "touched");
}

TEST(Crash, NothingToRecoverIsNoError) {
  const TempTree tree;
  const auto recovered = try_recover(tree.fd());
  ASSERT_TRUE(recovered);
  EXPECT_EQ(recovered->outcome, Recovery::kNothing);
}

}  // namespace
}  // namespace cloche::tree
