#include "diff/content.h"

#include <gtest/gtest.h>

#include <string>

namespace cloche::diff {
namespace {

TEST(Content, TextHasNoNulAmongItsFirstBytes) {
  EXPECT_EQ(judge_content(""), Content::kText);
  EXPECT_EQ(judge_content("plain\n"), Content::kText);
  EXPECT_EQ(judge_content("gr\xfc\xdf\x65 in Latin-1\n"), Content::kText);
  EXPECT_EQ(judge_content(std::string(7999, 'x') + '\0'), Content::kBinary);
  EXPECT_EQ(judge_content(std::string(8000, 'x') + '\0'), Content::kText);
  EXPECT_EQ(judge_content(std::string("U\0T\0F\0\n\0", 8)), Content::kBinary);
}

TEST(Content, HasALimitOfBytesAndOneOfLines) {
  const ContentLimits limits{.bytes = 6, .lines = 2};
  EXPECT_EQ(judge_content("123456", limits), Content::kText);
  EXPECT_EQ(judge_content("1234567", limits), Content::kTooLarge);
  EXPECT_EQ(judge_content("1\n2\n", limits), Content::kText);
  EXPECT_EQ(judge_content("1\n2\n3", limits), Content::kTooLarge);
  EXPECT_EQ(judge_content("1\n2\n\n", limits), Content::kTooLarge);
  EXPECT_EQ(judge_content(std::string(100, '\0'), limits), Content::kBinary);
}

}  // namespace
}  // namespace cloche::diff
