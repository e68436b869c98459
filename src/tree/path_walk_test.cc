#include "tree/path_walk.h"

#include <gtest/gtest.h>

#include <random>

namespace cloche::tree {
namespace {

using Paths = std::vector<std::string>;

// The state of a directory is its path, as far as names can tell.
struct Walk {
  std::string to(std::string_view path) {
    return walk
        .to(path,
            [this](std::span<const std::string> way, std::string_view folder, std::string_view name) {
              entered.emplace_back(folder);
              return way.back() + "[" + std::string(name) + "]";
            })
        .back();
  }

  PathWalk<std::string> walk = PathWalk<std::string>("");
  Paths entered = {};
};

TEST(PathWalk, EachDirectoryIsEnteredOnceWhenPathsComeSorted) {
  Walk walk;
  EXPECT_EQ(walk.to("a"), "");
  EXPECT_EQ(walk.to("a/b/c"), "[a][b]");
  EXPECT_EQ(walk.to("a/b/d"), "[a][b]");
  EXPECT_EQ(walk.to("a/b/d/e"), "[a][b][d]");
  EXPECT_EQ(walk.to("a/bc/d"), "[a][bc]");
  EXPECT_EQ(walk.to("a/x"), "[a]");
  EXPECT_EQ(walk.to("ab/x"), "[ab]");
  EXPECT_EQ(walk.entered, (Paths{"a", "a/b", "a/b/d", "a/bc", "ab"}));
}

TEST(PathWalk, ADirectoryIsTheSameByWhateverWayItWasReached) {
  std::mt19937 random(1);
  Walk walk;
  for (int i = 0; i < 20'000; ++i) {
    std::string path;
    for (auto left = random() % 8; left > 0; --left) path += "ab//"[random() % 4];
    EXPECT_EQ(walk.to(path), Walk().to(path)) << path;
  }
}

}  // namespace
}  // namespace cloche::tree
