#include "files/pattern.h"

#include <gtest/gtest.h>

namespace cloche::files {
namespace {

TEST(Pattern, StarsStayWithinAName) {
  EXPECT_TRUE(matches("/work/out/*.png", "/work/out/a.png"));
  EXPECT_TRUE(matches("/work/out/*.png", "/work/out/.png"));
  EXPECT_FALSE(matches("/work/out/*.png", "/work/out/x/a.png"));
  EXPECT_FALSE(matches("/work/out/*.png", "/work/out/a.jpg"));
  EXPECT_FALSE(matches("/work/*", "/work"));
  EXPECT_TRUE(matches("/work/?", "/work/a"));
  EXPECT_FALSE(matches("/work/?", "/work/ab"));
  EXPECT_TRUE(matches("/a*b*c", "/aXbYbZc"));
  EXPECT_FALSE(matches("/a*b*c", "/aXbYbZ"));
}

TEST(Pattern, TwoStarsAreAnyDirectories) {
  EXPECT_TRUE(matches("/work/**/a", "/work/a"));
  EXPECT_TRUE(matches("/work/**/a", "/work/x/y/a"));
  EXPECT_TRUE(matches("/work/**", "/work/x/y"));
  EXPECT_FALSE(matches("/work/**/a", "/tmp/a"));
  EXPECT_FALSE(matches("/work/x**/a", "/work/x/y/a"));
}

TEST(Pattern, BracketsAndBackslashesStandForThemselves) {
  EXPECT_TRUE(matches("/a[b]\\*", "/a[b]\\x"));
  EXPECT_FALSE(matches("/a[b]", "/ab"));
}

TEST(Pattern, TellsWhichDirectoriesToLookInto) {
  EXPECT_TRUE(may_hold("/work/out/*.png", "/work"));
  EXPECT_TRUE(may_hold("/work/out/*.png", "/work/out"));
  EXPECT_FALSE(may_hold("/work/out/*.png", "/work/in"));
  EXPECT_FALSE(may_hold("/work/out/*.png", "/work/out/deep"));
  EXPECT_TRUE(may_hold("/work/**/x", "/work/a/b/c"));
}

TEST(Pattern, IsBoundedForWhatWasMadeToBeHard) {
  std::string stars;
  std::string name = "/";
  for (int i = 0; i < 100; ++i) stars += "/**";
  for (int i = 0; i < 2000; ++i) name += "a/";
  EXPECT_FALSE(matches(stars + "/b", name));
  EXPECT_FALSE(matches("/" + std::string(200, '*') + "b", "/" + std::string(255, 'a')));
}

}  // namespace
}  // namespace cloche::files
