#include "tree/apply.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "tree/check.h"
#include "tree/test_support.h"

namespace cloche::tree {
namespace {

void expect_error(const Result<Applied>& result, std::string_view words) {
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().text().find(words), std::string::npos) << result.error().text();
}

// The tree and nothing of ours.
void expect_picture(const TempTree& tree, const Picture& wanted) { EXPECT_EQ(tree.picture(), wanted); }

TEST(Apply, AddsModifiesAndDeletes) {
  const TempTree tree;
  tree.file("changed", "old", 0600);
  tree.file("gone", "x");
  tree.folder("empty");
  tree.link("link", "a");
  const auto result =
      try_apply(tree.fd(), proposal(add("new", "1", 0755), add("deep/er/file", "2"), add_folder("folder", 0711),
                                    add_link("points", "/etc/passwd"), replace_now(tree, add("changed", "new", 0640)),
                                    remove_now(tree, "gone"), remove_now(tree, "empty"),
                                    replace_now(tree, add_link("link", "b"))));
  expect_applied(result);
  EXPECT_EQ(result->added, 4u);
  EXPECT_EQ(result->modified, 2u);
  EXPECT_EQ(result->deleted, 2u);
  EXPECT_EQ(result->parents, (std::vector<std::string>{"deep", "deep/er"}));
  expect_picture(tree, {{"new", "file 493 1"},
                        {"deep", "directory 493"},
                        {"deep/er", "directory 493"},
                        {"deep/er/file", "file 420 2"},
                        {"folder", "directory 457"},
                        {"points", "link /etc/passwd"},
                        {"changed", "file 416 new"},
                        {"link", "link b"}});
}

TEST(Apply, AnEmptyProposalChangesNothing) {
  const TempTree tree;
  tree.file("a", "x");
  const Picture before = tree.picture();
  expect_applied(try_apply(tree.fd(), {}));
  expect_picture(tree, before);
}

TEST(Apply, KindsChangeIntoEachOther) {
  const TempTree tree;
  tree.file("file", "x");
  tree.folder("folder");
  tree.file("folder/inside", "y");
  tree.link("link", tree.victim());
  const auto changes =
      proposal(replace_now(tree, add_folder("file")), add("file/below", "1"), remove_now(tree, "folder/inside"),
               replace_now(tree, add("folder", "2")), replace_now(tree, add_folder("link")), add("link/below", "3"));
  expect_applied(try_apply(tree.fd(), changes));
  expect_picture(tree, {{"file", "directory 493"},
                        {"file/below", "file 420 1"},
                        {"folder", "file 420 2"},
                        {"link", "directory 493"},
                        {"link/below", "file 420 3"}});
  EXPECT_TRUE(tree.victim_picture().empty());
}

TEST(Apply, X6_WhatBecomesADirectoryHoldsDirectories) {
  const TempTree tree;
  tree.file("file", "x");
  tree.link("link", tree.victim());
  tree.link("dangling", "nowhere");
  const auto changes = proposal(replace_now(tree, add_folder("file")), add_folder("file/a"), add("file/a/b/below", "1"),
                                replace_now(tree, add_folder("link")), add_folder("link/a"), add("link/a/b/below", "2"),
                                add_link("link/a/points", "b"), replace_now(tree, add_folder("dangling")),
                                add_folder("dangling/a"), add_folder("dangling/a/b"));
  expect_applied(try_apply(tree.fd(), changes));
  expect_picture(tree, {{"file", "directory 493"},
                        {"file/a", "directory 493"},
                        {"file/a/b", "directory 493"},
                        {"file/a/b/below", "file 420 1"},
                        {"link", "directory 493"},
                        {"link/a", "directory 493"},
                        {"link/a/b", "directory 493"},
                        {"link/a/b/below", "file 420 2"},
                        {"link/a/points", "link b"},
                        {"dangling", "directory 493"},
                        {"dangling/a", "directory 493"},
                        {"dangling/a/b", "directory 493"}});
  EXPECT_TRUE(tree.victim_picture().empty());
}

TEST(Apply, ContentComesFromADescriptorToo) {
  const TempTree tree;
  const std::string bytes(300'000, 'z');
  auto file = sys::make_memfd("content", bytes);
  ASSERT_TRUE(file);
  std::vector<Change> changes;
  changes.push_back({"a", std::nullopt, regular_state(bytes, 0644), std::move(*file)});
  expect_applied(try_apply(tree.fd(), changes));
  EXPECT_EQ(bytes_of(tree.path("a")), bytes);
}

TEST(Apply, ContentThatIsNotTheStatedOneIsRefused) {
  const TempTree tree;
  for (const char* other : {"other", "longer than it", ""}) {
    std::vector<Change> changes = proposal(add("a", "right"), add("b", "x"));
    changes[0].content = std::string(other);
    expect_error(try_apply(tree.fd(), changes), "digest");
    auto file = sys::make_memfd("content", other);
    changes[0].content = std::move(*file);
    expect_error(try_apply(tree.fd(), changes), "digest");
  }
  std::vector<Change> changes = proposal(add("a", "right"));
  changes[0].content = Fd(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  expect_error(try_apply(tree.fd(), changes), "not a regular file");
  changes[0].content = std::monostate();
  expect_error(try_apply(tree.fd(), changes), "no content");
  expect_picture(tree, {});
}

TEST(Apply, AModeAloneChangesWithoutContent) {
  const TempTree tree;
  tree.file("script", "run me", 0644);
  tree.folder("folder", 0755);
  std::vector<Change> changes =
      proposal(replace_now(tree, add("script", "run me", 0755)), replace_now(tree, add_folder("folder", 0700)));
  changes[0].content = std::monostate();
  expect_applied(try_apply(tree.fd(), changes));
  expect_picture(tree, {{"script", "file 493 run me"}, {"folder", "directory 448"}});
}

TEST(Apply, SetIdAndStickyBitsAreDropped) {
  const TempTree tree;
  std::vector<Change> changes = proposal(add("a", "x"), add_folder("d"));
  changes[0].after->mode = 0106755;
  changes[1].after->mode = 0043777;
  expect_applied(try_apply(tree.fd(), changes));
  expect_picture(tree, {{"a", "file 493 x"}, {"d", "directory 511"}});
}

TEST(Apply, TheHostsOwnBitsOfADirectoryStay) {
  const TempTree tree;
  tree.folder("shared", 01777);
  expect_applied(try_apply(tree.fd(), proposal(replace_now(tree, add_folder("shared", 0755)))));
  expect_picture(tree, {{"shared", "directory 1005"}});  // 01755
}

TEST(Apply, FilesGoIntoDirectoriesThatEndUpWithoutRights) {
  const TempTree tree;
  tree.folder("now_closed", 0755);
  tree.folder("now_open", 0555);
  tree.folder("goes", 0555);
  expect_applied(try_apply(
      tree.fd(),
      proposal(add_folder("closed", 0500), add("closed/file", "1", 0400),
               replace_now(tree, add_folder("now_closed", 0500)), add("now_closed/file", "2"),
               replace_now(tree, add_folder("now_open", 0755)), add("now_open/file", "3"), remove_now(tree, "goes"))));
  expect_picture(tree, {{"closed", "directory 320"},
                        {"closed/file", "file 256 1"},
                        {"now_closed", "directory 320"},
                        {"now_closed/file", "file 420 2"},
                        {"now_open", "directory 493"},
                        {"now_open/file", "file 420 3"}});
}

TEST(Apply, AHardLinkedFileIsReplacedAndNotWrittenThrough) {
  const TempTree tree;
  tree.file("f", "old", 0600);
  ASSERT_EQ(::link(tree.path("f").c_str(), tree.victim("other").c_str()), 0);
  expect_applied(try_apply(tree.fd(), proposal(replace_now(tree, add("f", "new", 0644)))));
  EXPECT_EQ(bytes_of(tree.path("f")), "new");
  EXPECT_EQ(tree.victim_picture(), (Picture{{"other", "file 384 old"}}));
}

TEST(Apply, ALinkIsReplacedAndNotFollowed) {
  const TempTree tree;
  std::ofstream(tree.victim("target")) << "victim";
  tree.link("l", tree.victim("target"));
  expect_applied(try_apply(tree.fd(), proposal(replace_now(tree, add("l", "new")))));
  expect_picture(tree, {{"l", "file 420 new"}});
  EXPECT_EQ(bytes_of(tree.victim("target")), "victim");
}

TEST(Apply, AProposalThatBreaksItsOwnRulesIsAnError) {
  const TempTree tree;
  tree.file("f", "x");
  const Picture before = tree.picture();
  expect_error(try_apply(tree.fd(), proposal(add("../victim/x", "x"))), "\"..\"");
  expect_error(try_apply(tree.fd(), proposal(add(".cloche-apply/x", "x"))), "applying itself");
  expect_error(try_apply(tree.fd(), proposal(add("a", "1"), add("a", "2"))), "twice");
  expect_error(try_apply(tree.fd(), proposal(add("a", "1"), add("a/b", "2"))), "no directory");
  expect_error(try_apply(tree.fd(), proposal(add_link("a", "."), add("a/b/c", "2"))), "no directory");
  expect_error(try_apply(tree.fd(), proposal(remove_now(tree, "f"), add("f/b", "2"))), "no directory");
  expect_error(try_apply(tree.fd(), proposal(add_link("l", ""))), "target");
  expect_error(try_apply(tree.fd(), proposal(add_link("l", std::string("a\0b", 3)))), "target");
  std::vector<Change> changes = proposal(add("a", "1"));
  changes[0].after->kind = FileKind::kOther;
  expect_error(try_apply(tree.fd(), changes), "only files");
  changes[0].after.reset();
  expect_error(try_apply(tree.fd(), changes), "neither");
  expect_picture(tree, before);
}

TEST(Apply, NothingIsChangedBehindAMount) {
  const Fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto checked = check(root.get(), proposal(add("proc/cloche", "x")), {});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().errno_value, EXDEV);
}

TEST(Apply, ASecondApplicationToTheSameTreeIsToldSo) {
  const TempTree tree;
  int refused = 0;
  Options options;
  options.progress = [&](std::string_view step) {
    if (step != "commit") return;
    const auto second = try_apply(tree.fd(), proposal(add("b", "2")));
    const auto recovery = try_recover(tree.fd());
    ASSERT_FALSE(second);
    ASSERT_FALSE(recovery);
    EXPECT_EQ(second.error().code, ErrorCode::kRefused);
    EXPECT_NE(second.error().text().find("under way"), std::string::npos);
    ++refused;
  };
  expect_applied(try_apply(tree.fd(), proposal(add("a", "1")), options));
  EXPECT_EQ(refused, 1);
  expect_picture(tree, {{"a", "file 420 1"}});
}

TEST(Apply, X6_CancelledBeforeTheDecisionChangesNothing) {
  const std::string bytes(20 << 20, 'z');
  for (int answers = 0;; ++answers) {
    const TempTree tree(quick_place());
    tree.file("a", "old");
    const Picture before = tree.picture();
    int asked = 0;
    bool decided = false;
    Options options;
    options.cancelled = [&] {
      EXPECT_FALSE(decided);
      return asked++ == answers;
    };
    options.progress = [&](std::string_view step) { decided = decided || step == "commit"; };
    std::vector<Change> changes = proposal(replace_now(tree, add("a", "new")), add("b", "new"));
    auto file = sys::make_memfd("content", bytes);
    ASSERT_TRUE(file);
    changes.push_back({"large", std::nullopt, regular_state(bytes, 0644), std::move(*file)});
    const auto result = try_apply(tree.fd(), changes, options);
    EXPECT_FALSE(tree.staging_exists());
    if (result) {
      // Each change is asked for when it is looked at and when it is staged, the large one also in between.
      EXPECT_GE(asked, 9);
      break;
    }
    EXPECT_EQ(result.error().errno_value, ECANCELED) << result.error().text();
    expect_picture(tree, before);
  }
}

// At each step from the decision on: the signal ends the process, but not before everything is done or undone.
TEST(Apply, X6_ASignalWaitsUntilEverythingIsDoneOrUndone) {
  for (const bool undone : {false, true}) {
    bool more = true;
    for (int at = 0; more; ++at) {
      const int number = std::array{SIGINT, SIGTERM, SIGHUP, SIGPIPE}[static_cast<std::size_t>(at) % 4];
      const TempTree tree(quick_place());
      for (const char* name : {"a", "b", "c"}) tree.file(name, "old");
      const auto changes = proposal(replace_now(tree, add("a", "new")), remove_now(tree, "b"),
                                    replace_now(tree, add("c", "new")), add("zlast", "new"));
      const pid_t child = ::fork();
      if (child == 0) {
        int step = -1;
        Options options;
        options.progress = [&](std::string_view name) {
          if (undone && name == "put zlast") tree.file("zlast", "mine");
          if (name == "commit" || step >= 0) ++step;
          if (step == at) ::raise(number);
        };
        (void)try_apply(tree.fd(), changes, options);
        ::_exit(0);
      }
      int status = -1;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      more = WIFSIGNALED(status);
      EXPECT_TRUE(!more || WTERMSIG(status) == number);
      Picture wanted{{"a", "file 420 new"}, {"c", "file 420 new"}, {"zlast", "file 420 new"}};
      if (undone) {
        wanted = {{"a", "file 420 old"}, {"b", "file 420 old"}, {"c", "file 420 old"}, {"zlast", "file 420 mine"}};
      }
      EXPECT_EQ(tree.picture(), wanted) << at;
      ASSERT_TRUE(more || at > 8);
    }
  }
}

TEST(Apply, X6_OneLargeFileIsToldOfWhileItIsCopied) {
  const TempTree tree(quick_place());
  const std::string bytes(20 << 20, 'z');
  auto file = sys::make_memfd("content", bytes);
  ASSERT_TRUE(file);
  std::vector<Change> changes;
  changes.push_back({"large", std::nullopt, regular_state(bytes, 0644), std::move(*file)});
  std::vector<std::string> told;
  Options options;
  options.progress = [&](std::string_view step) {
    if (step.starts_with("stage large, ")) told.emplace_back(step);
  };
  expect_applied(try_apply(tree.fd(), changes, options));
  EXPECT_EQ(told, (std::vector<std::string>{"stage large, 8 of 20 MiB", "stage large, 16 of 20 MiB"}));
  EXPECT_EQ(bytes_of(tree.path("large")), bytes);
}

TEST(Apply, FiveThousandFilesInManyDirectories) {
  const TempTree tree;
  std::vector<Change> changes;
  for (int i = 0; i < 5000; ++i) {
    changes.push_back(add("d" + std::to_string(i % 100) + "/f" + std::to_string(i), std::to_string(i)));
  }
  const auto result = try_apply(tree.fd(), changes);
  expect_applied(result);
  EXPECT_EQ(result->parents.size(), 100u);
  EXPECT_EQ(tree.picture().size(), 5100u);
  EXPECT_EQ(bytes_of(tree.path("d99/f4999")), "4999");
  std::vector<Change> removal;
  for (const auto& change : changes) removal.push_back({change.path, change.after, std::nullopt, {}});
  for (int i = 0; i < 100; ++i) removal.push_back(remove_now(tree, "d" + std::to_string(i)));
  expect_applied(try_apply(tree.fd(), removal));
  expect_picture(tree, {});
}

TEST(Apply, X6_ADirectoryThatMayNotBeWrittenToIsNamedBeforeAnythingIsDone) {
  if (::geteuid() == 0) return;  // root writes everywhere; ctest runs this as an ordinary user, too
  const TempTree tree;
  tree.folder("d");
  tree.folder("d/mode");
  tree.file("d/a", "old");
  tree.file("first", "old");
  ASSERT_EQ(::chmod(tree.path("d").c_str(), 0555), 0);
  const Picture before = tree.picture();
  std::vector<std::string> steps;
  Options options;
  options.progress = [&](std::string_view step) { steps.emplace_back(step); };
  for (const auto& changes : {proposal(replace_now(tree, add("first", "new")), replace_now(tree, add("d/a", "new"))),
                              proposal(add("d/new", "new")), proposal(remove_now(tree, "d/a")),
                              proposal(replace_now(tree, add_folder("d/mode", 0700)), add("d/new", "new"))}) {
    const auto result = try_apply(tree.fd(), changes, options);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kRefused) << result.error().text();
    EXPECT_NE(result.error().text().find("directory d is one that this user may not write to"), std::string::npos)
        << result.error().text();
    EXPECT_NE(result.error().text().find("chmod u+wx d"), std::string::npos) << result.error().text();
    EXPECT_EQ(std::ranges::find(steps, "commit"), steps.end());
    EXPECT_EQ(tree.picture(), before);
  }
  expect_applied(try_apply(tree.fd(), proposal(replace_now(tree, add_folder("d/mode", 0700)))));
  ASSERT_EQ(::chmod(tree.path("d").c_str(), 0755), 0);
}

TEST(Apply, X6_SoIsTheTreesOwn) {
  if (::geteuid() == 0) return;  // as above
  const TempTree tree;
  tree.folder("d");
  ASSERT_EQ(::chmod(tree.path().c_str(), 0555), 0);
  const auto result = try_apply(tree.fd(), proposal(add("d/new", "new")));
  ASSERT_EQ(::chmod(tree.path().c_str(), 0755), 0);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kRefused) << result.error().text();
  EXPECT_NE(result.error().text().find("the directory itself is one that this user may not write to"),
            std::string::npos)
      << result.error().text();
  EXPECT_NE(result.error().text().find("chmod u+wx ."), std::string::npos) << result.error().text();
}

}  // namespace
}  // namespace cloche::tree
