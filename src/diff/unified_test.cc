#include "diff/unified.h"

#include <gtest/gtest.h>

#include "diff/test_support.h"

namespace cloche::diff {
namespace {

TEST(Unified, WritesHeadersRangesAndSigns) {
  EXPECT_EQ(unified("src/x", diff_lines("a\nb\n", "a\nB\n")),
            "--- a/src/x\n+++ b/src/x\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n");
  EXPECT_EQ(unified("src/x", {}), "");
}

TEST(Unified, NamesDevNullForAddedAndDeletedFiles) {
  EXPECT_EQ(unified("x", diff_lines("", "a\n"), {.change = FileChange::kAdded, .paint = {}}),
            "--- /dev/null\n+++ b/x\n@@ -0,0 +1,1 @@\n+a\n");
  EXPECT_EQ(unified("x", diff_lines("a\n", ""), {.change = FileChange::kDeleted, .paint = {}}),
            "--- a/x\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n");
}

TEST(Unified, SaysWhereTheLastLineFeedIsMissing) {
  EXPECT_EQ(unified("x", diff_lines("a\nb", "a\nc")),
            "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"
            "\\ No newline at end of file\n");
  EXPECT_EQ(unified("x", diff_lines("a\nb", "A\nb")),
            "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n");
}

TEST(Unified, QuotesNamesAndEndsThoseWithBlanks) {
  const std::string text = unified("a \"b\"", diff_lines("a\n", "b\n"));
  EXPECT_TRUE(text.starts_with("--- \"a/a \\\"b\\\"\"\t\n+++ \"b/a \\\"b\\\"\"\t\n")) << text;
  EXPECT_TRUE(unified("a b", diff_lines("a\n", "b\n")).starts_with("--- a/a b\t\n+++ b/a b\t\n"));
}

TEST(Unified, PaintsEachLineAndResetsBeforeItsEnd) {
  const Paint paint{"<h>", "<@>", "<+>", "<->", "</>"};
  EXPECT_EQ(unified("x", diff_lines("a\nb\n", "a\nB\n"), {.paint = paint}),
            "<h>--- a/x</>\n<h>+++ b/x</>\n<@>@@ -1,2 +1,2 @@</>\n a\n<->-b</>\n<+>+B</>\n");
}

TEST(Unified, IsHarmlessOnATerminalWhenAsked) {
  const std::vector<Hunk> hunks = diff_lines("a\n", "\x1b[1A\x1b[2Kinnocent\r\n");
  EXPECT_EQ(unified("x\a", hunks, {.showing = Showing::kHarmless, .paint = {}}),
            "--- \"a/x\\a\"\n+++ \"b/x\\a\"\n@@ -1,1 +1,1 @@\n-a\n+\\x1b[1A\\x1b[2Kinnocent\\x0d\n");
  EXPECT_NE(unified("x", hunks).find("\x1b[1A"), std::string::npos);
}

TEST(Unified, TerminalPaintResetsWhatItSets) {
  const Paint paint = terminal_paint();
  for (const std::string& part : {paint.header, paint.range, paint.added, paint.removed}) {
    EXPECT_TRUE(part.starts_with("\x1b[") && part.ends_with("m"));
  }
  EXPECT_EQ(paint.reset, "\x1b[0m");
}

}  // namespace
}  // namespace cloche::diff
