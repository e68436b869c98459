#include "diff/quote.h"

#include <gtest/gtest.h>

#include <map>

#include "base/glyph.h"
#include "base/utf8.h"
#include "diff/test_support.h"

namespace cloche::diff {
namespace {

using testing::below;
using testing::Random;

TEST(QuotePath, LeavesOrdinaryNamesAlone) {
  for (const char* path : {"a", "src/main.cc", "with blank", "größe", "日本", "it's", "#x;$y"}) {
    EXPECT_EQ(quote_path(path), path);
  }
}

TEST(QuotePath, QuotesAsGitDoes) {
  EXPECT_EQ(quote_path("a\"b"), R"("a\"b")");
  EXPECT_EQ(quote_path("a\\b"), R"("a\\b")");
  EXPECT_EQ(quote_path("\a\b\t\n\v\f\r"), R"("\a\b\t\n\v\f\r")");
  EXPECT_EQ(quote_path("\x1b[2J\x01\x7f"), R"("\033[2J\001\177")");
  EXPECT_EQ(quote_path("gr\xfc\x6e ü"), R"("gr\374n ü")");
  EXPECT_EQ(quote_path("txt.\u202eexe"), R"("txt.\342\200\256exe")");
  EXPECT_EQ(quote_path("\u009b"), R"("\302\233")");
}

TEST(HarmlessLine, LeavesSourcesAlone) {
  EXPECT_EQ(harmless_line("\tputs(\"a\\n\\t\"); // 100 % ü\n"), "\tputs(\"a\\n\\t\"); // 100 % ü");
  EXPECT_EQ(harmless_line("C:\\dir\\"), "C:\\dir\\");
  EXPECT_EQ(harmless_line("\n"), "");
}

TEST(HarmlessLine, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(harmless_line("\x1b]0;title\a\n"), "\\x1b]0;title\\x07");
  EXPECT_EQ(harmless_line("over\rwritten\r\n"), "over\\x0dwritten\\x0d");
  EXPECT_EQ(harmless_line("\u009b31m\x9b"), "\\u{9b}31m\\x9b");
  EXPECT_EQ(harmless_line("a\u202eb\u200b"), "a\\u{202e}b\\u{200b}");
}

TEST(HarmlessLine, DoublesABackslashThatWouldReadAsAnEscape) {
  EXPECT_EQ(harmless_line("\\x1b"), "\\\\x1b");
  EXPECT_EQ(harmless_line("\\u{9b}"), "\\\\u{9b}");
  EXPECT_EQ(harmless_line("\\\x1b"), "\\\\\\x1b");
  EXPECT_EQ(harmless_line("\\\\n"), "\\\\\\n");
}

std::string random_hostile(Random& random) {
  static constexpr std::string_view kParts[] = {"a", "x",  "1",    "b",    "u",      "{",      "}", "\\",
                                                "9", "\t", "\x1b", "\x9b", "\u009b", "\u202e", "ü", "\r"};
  std::string out;
  for (std::size_t i = below(random, 7); i > 0; --i) out += kParts[below(random, std::size(kParts))];
  return out;
}

TEST(HarmlessLine, IsHarmlessAndNoTwoLinesLookAlike) {
  Random random(30);
  std::map<std::string, std::string> seen;
  for (int round = 0; round < 200'000; ++round) {
    const std::string line = random_hostile(random);
    const std::string shown = harmless_line(line);
    for (std::string_view rest = shown; !rest.empty();) {
      const Utf8Char c = decode_utf8(rest);
      ASSERT_NE(c.length, 0u);
      ASSERT_TRUE(c.code == '\t' || !unsafe_to_show(c.code)) << shown;
      rest.remove_prefix(c.length);
    }
    const auto [found, is_new] = seen.try_emplace(shown, line);
    ASSERT_TRUE(is_new || found->second == line) << shown;
  }
}

}  // namespace
}  // namespace cloche::diff
