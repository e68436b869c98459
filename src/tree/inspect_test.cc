#include "tree/inspect.h"

#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include "tree/test_support.h"

namespace cloche::tree {
namespace {

TEST(Inspect, TellsKindModeSizeDigestAndTarget) {
  const TempTree tree;
  tree.folder("d", 0750);
  tree.file("d/f", "hello", 0640);
  tree.link("d/l", "/etc/passwd");
  EXPECT_TRUE(agree(state_now(tree, "d"), directory_state(0750)));
  EXPECT_TRUE(agree(state_now(tree, "d/f"), regular_state("hello", 0640)));
  EXPECT_TRUE(agree(state_now(tree, "d/l"), symlink_state("/etc/passwd")));
}

TEST(Inspect, NothingIsThereWhereAParentIsMissingOrAFile) {
  const TempTree tree;
  tree.file("f", "x");
  EXPECT_EQ(state_now(tree, "none"), std::nullopt);
  EXPECT_EQ(state_now(tree, "none/x"), std::nullopt);
  EXPECT_EQ(state_now(tree, "f/x"), std::nullopt);
}

TEST(Inspect, SetIdBitsAreNoPartOfTheMode) {
  const TempTree tree;
  tree.file("f", "x", 04755);
  EXPECT_EQ(state_now(tree, "f")->mode, mode_t{0755});
}

TEST(Inspect, NoParentIsALink) {
  const TempTree tree;
  std::ofstream(tree.victim("secret")) << "x";
  tree.link("l", tree.victim());
  const auto state = inspect(tree.fd(), "l/secret");
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().errno_value, ELOOP);
}

TEST(Inspect, PathsThatBreakARuleAreNotLookedAt) {
  const TempTree tree;
  EXPECT_FALSE(inspect(tree.fd(), "../victim"));
  EXPECT_FALSE(inspect(tree.fd(), "/etc/passwd"));
  EXPECT_FALSE(inspect(tree.fd(), ".cloche-apply/journal"));
}

TEST(Inspect, HardLinksAreReported) {
  const TempTree tree;
  tree.file("f", "x");
  EXPECT_EQ(state_now(tree, "f")->links, 1u);
  ASSERT_EQ(::link(tree.path("f").c_str(), tree.victim("other").c_str()), 0);
  EXPECT_EQ(state_now(tree, "f")->links, 2u);
}

// Opening a fifo would wait for a writer without end.
TEST(Inspect, AFifoIsOfAnotherKindAndNotOpened) {
  const TempTree tree;
  ASSERT_EQ(::mkfifo(tree.path("p").c_str(), 0644), 0);
  const Fd watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ASSERT_GE(::inotify_add_watch(watch.get(), tree.path("p").c_str(), IN_OPEN), 0);
  EXPECT_EQ(state_now(tree, "p")->kind, FileKind::kOther);
  const Fd place(::open(tree.path("p").c_str(), O_PATH | O_CLOEXEC));
  EXPECT_FALSE(reopen_regular(place.get(), "p"));
  char events[512];
  EXPECT_EQ(::read(watch.get(), events, sizeof events), -1) << "it was opened";
}

TEST(Inspect, AFifoThatComesAndGoesIsNeverOpened) {
  const TempTree tree;
  tree.file("f", "x");
  ASSERT_EQ(::mkfifo(tree.path("p").c_str(), 0644), 0);
  std::atomic<bool> stop = false;
  std::thread swapper([&] {
    while (!stop) {
      (void)::renameat2(AT_FDCWD, tree.path("f").c_str(), AT_FDCWD, tree.path("p").c_str(), RENAME_EXCHANGE);
    }
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (int i = 0; i < 20'000 && std::chrono::steady_clock::now() < end; ++i) {
    const auto state = inspect(tree.fd(), "f");
    const bool right =
        state && *state && ((*state)->kind == FileKind::kOther || agree(**state, regular_state("x", 0644)));
    EXPECT_TRUE(right);
    if (!right) break;
  }
  stop = true;
  swapper.join();
}

// /proc is a mount on every host.
TEST(Inspect, TheBorderOfAMountIsCrossedToLookAndNotToChange) {
  const Fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  EXPECT_TRUE(inspect(root.get(), "proc/version"));
  const auto seen = look(root.get(), "proc/version", Mounts::kRefuse);
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().errno_value, EXDEV);
}

}  // namespace
}  // namespace cloche::tree
