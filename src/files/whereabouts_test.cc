#include "files/whereabouts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "files/test_support.h"

namespace cloche::files {
namespace {

class WhereaboutsTest : public testing::Test {
 protected:
  Whereabouts begin(ViewKind kind = ViewKind::kOverlay) {
    const timespec started = tick();
    root_ = desk_.open_lower();
    return {root_.get(), kind, started};
  }
  static void look(Whereabouts& whereabouts) {
    while (whereabouts.next() != Clock::time_point::max()) whereabouts.advance(Clock::now());
  }
  Spot spot(const std::string& name) const {
    struct stat st{};
    EXPECT_EQ(::lstat(desk_.lower(name).c_str(), &st), 0) << name;
    return spot_of(st);
  }

  Desk desk_;
  Fd root_;
};

TEST_F(WhereaboutsTest, KnowsEveryDirectoryByItsPath) {
  write_file(desk_.lower("a/b/c/file"), "x");
  fs::create_directory_symlink("a", desk_.lower("link"));
  Whereabouts whereabouts = begin();
  look(whereabouts);
  for (const char* name : {"", "a", "a/b", "a/b/c"}) EXPECT_EQ(whereabouts.directory(name), spot(name)) << name;
  for (const char* name : {"link", "a/b/c/file", "none"}) EXPECT_FALSE(whereabouts.directory(name)) << name;
  EXPECT_FALSE(whereabouts.had("a/b/c/file"));
}

TEST_F(WhereaboutsTest, KnowsNothingOfWhatMayHaveBeenMovedBefore) {
  write_file(desk_.lower("src/deep/file"), "x");
  write_file(desk_.lower("other/deep/file"), "x");
  write_file(desk_.lower("quiet/file"), "x");
  Whereabouts whereabouts = begin();
  fs::rename(desk_.lower("src"), desk_.lower("old"));
  fs::rename(desk_.lower("other"), desk_.lower("src"));
  look(whereabouts);
  for (const char* name : {"src", "src/deep", "old", "old/deep"}) EXPECT_FALSE(whereabouts.directory(name)) << name;
  EXPECT_EQ(whereabouts.directory("quiet"), spot("quiet"));
}

TEST_F(WhereaboutsTest, KnowsWhatWasOnlyWrittenTo) {
  write_file(desk_.lower("src/deep/file"), "x");
  Whereabouts whereabouts = begin();
  write_file(desk_.lower("src/new"), "x");
  look(whereabouts);
  for (const char* name : {"src", "src/deep"}) EXPECT_EQ(whereabouts.directory(name), spot(name)) << name;
}

TEST_F(WhereaboutsTest, OfACopyKnowsWhichNamesThereWere) {
  write_file(desk_.lower("quiet/file"), "x");
  write_file(desk_.lower("busy/file"), "x");
  Whereabouts whereabouts = begin(ViewKind::kCopy);
  write_file(desk_.lower("busy/new"), "x");
  look(whereabouts);
  for (const char* name : {"quiet", "busy", "quiet/file"}) EXPECT_TRUE(whereabouts.had(name)) << name;
  for (const char* name : {"busy/file", "busy/new", "none"}) EXPECT_FALSE(whereabouts.had(name)) << name;
}

// Nobody waits for it.
TEST_F(WhereaboutsTest, LooksInSlices) {
  for (int i = 0; i < 2000; ++i) fs::create_directories(desk_.lower("d" + std::to_string(i) + "/e"));
  Whereabouts whereabouts = begin();
  int slices = 0;
  for (; whereabouts.next() != Clock::time_point::max(); ++slices) {
    const Clock::time_point now = std::max(Clock::now(), whereabouts.next());
    whereabouts.advance(now);
    EXPECT_GT(whereabouts.next(), now);
  }
  EXPECT_GT(slices, 1);
  EXPECT_EQ(whereabouts.directory("d1999/e"), spot("d1999/e"));
}

}  // namespace
}  // namespace cloche::files
