#include "learn/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::learn {
namespace {

TEST(OutputDifference, IsNoneOfTheSameWords) {
  EXPECT_EQ(output_difference("a\nb\n", "a\nb\n"), std::nullopt);
  EXPECT_EQ(output_difference("", ""), std::nullopt);
}

TEST(OutputDifference, NamesTheFirstLineThatDiffers) {
  const auto got = output_difference("a\n.. 60\nc 1\n", "a\n.. 4096\nc 2\n");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->line, 2U);
  EXPECT_TRUE(got->same_shape);
  EXPECT_EQ(to_string(*got), "line 2 was \".. 60\" and is \".. 4096\"");
}

TEST(OutputDifference, ThatLacksALineOrAWordHasAnotherShape) {
  for (const char* now : {"", "a b\n", "a b\nc d\ne\n", "a\nb c d\n", "a b\nc\n"}) {
    const auto got = output_difference("a b\nc d\n", now);
    ASSERT_TRUE(got) << now;
    EXPECT_FALSE(got->same_shape) << now;
  }
}

TEST(OutputDifference, InAnotherWordThanANumberHasAnotherShape) {
  EXPECT_FALSE(output_difference("yes\n", "no\n")->same_shape);
  EXPECT_FALSE(output_difference("1 a\nyes\n", "2 a\nno\n")->same_shape);
  // With the number an owner may be another, and the width of a column.
  EXPECT_TRUE(output_difference("me   40 ..\nme 40 f\n", "you 4096 ..\nme   40 f\n")->same_shape);
}

TEST(OutputDifference, WithOrWithoutAnEndOfLineIsOneOfNoLine) {
  const auto got = output_difference("a", "a\n");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->line, 2U);
}

TEST(OutputDifference, CannotReachTheTerminal) {
  const auto got = output_difference("a\n", "\033[2J" + std::string(300, 'x') + "\n");
  ASSERT_TRUE(got);
  const std::string text = to_string(*got);
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_LT(text.size(), 200U);
}

}  // namespace
}  // namespace cloche::learn
