#include "gateway/quiet_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "gateway/spelled_test_support.h"

namespace cloche::gateway {
namespace {

// Values of which each takes another way: nothing but letters, which leaves most signs to themselves; quotes, blanks
// and letters beyond ASCII, which do not; ones that begin alike, go on in one another or in themselves; one too short
// for windows.
const std::vector<std::vector<std::string>> kValues = {
    {"sk-Real_Value_0123456789"},
    {"it's \"q\" \\b/<&>+%41;=\xc3\xa9\xf0\x9f\x98\x80zz12AbCd"},
    {"aaaabaaaabaaaab", "aabaaaabaaaabaa", "aaaaaaaaaaaaaaaaaaaaaaab"},
    {"41414141%41%41%41414141", "nnnnnnnnnnnnnnnnn\\n"},
    {"with a blank or two in it", "''''''''''''''''\"\"\"\""},
    {"n0w\xe9\xe8 Latin-1 in full"},
    {"\xc3\xa9\xc3\xa8\xc3\xa9\xc3\xa8\xc3\xa9\xc3\xa8\xc3\xa9\xc3\xa8"},
    {"too-short"},
    {"sk-Real_Value_0123456789", "\xc2\xc3\x82\x83\xc2\xc3\x82\x83", "\xc3\x83\xc2\x82z\xc3\xa9\xc3\x82z\xc2\x83"},
    {"sk-Real_Value_0123456789", "''", "e9\xe9\xc3\xc2\xe9\xc3"},
    {"eightchr"},
    {"ten-0letters"},
    {"thirteen-1234", "fourteen-12345"},
    {"a\"bcdefghij", "sk-Real_Value_0123456789"},
    {"%abcdefghijklmn", "a+b cdefghijklm"},
};

TEST(QuietText, X9_PassingOverTextFindsWhatASlowSearchFindsHoweverItIsCut) {
  std::size_t found = 0;
  for (const auto& values : kValues) {
    const Searched searched(values);
    for (unsigned seed = 0; seed < 60; ++seed) {
      const std::string text = Maker(values, seed).text(700);
      const Ends wanted = searched.slowly(text);
      found += wanted.size();
      for (const std::size_t piece : {1u, 2u, 5u, 8u, 13u, 16u, 31u, 64u, 100u, 333u, 5000u}) {
        ASSERT_TRUE(Searched::is_same(wanted, searched.in_pieces_of(piece, text)))
            << values[0] << " seed " << seed << " piece " << piece;
      }
    }
  }
  EXPECT_GT(found, 1000u);
}

// Every place of a grid, every cut, and what stands before and behind.
TEST(QuietText, X9_AValueIsFoundAtEachPlaceOfPlainText) {
  for (const auto& values : kValues) {
    const Searched searched(values);
    for (const std::string_view around : {"x", "%", "\n", "'", "\xc3", "ab\r\n", "sk", "a"}) {
      std::string filler;
      while (filler.size() < 64) filler += around;
      for (std::size_t before = 0; before < 40; ++before) {
        const std::string text = filler.substr(0, before) + values[0] + filler;
        const Ends wanted = searched.slowly(text);
        ASSERT_TRUE(
            std::ranges::any_of(wanted, [&](const auto& one) { return one.first == before + values[0].size(); }))
            << around << before;
        for (std::size_t piece = 1; piece < text.size(); ++piece)
          ASSERT_TRUE(Searched::is_same(wanted, searched.in_pieces_of(piece, text))) << piece;
      }
    }
  }
}

TEST(QuietText, X9_NoByteIsTakenForItselfThatASpellingEndsIn) {
  const std::string_view kParts[] = {"%", "\\", "&", "x",   "u",  "U",  "4",  "1",  "{",       "}",    ";",
                                     "#", "n",  "r", "amp", "25", "5C", "0A", "0D", "\\u000a", "&#10;"};
  std::mt19937 random(7);  // the same in every run
  for (int round = 0; round < 200'000; ++round) {
    std::string text(random() % 14, 'z');
    for (std::size_t parts = 1 + random() % 10; parts > 0; --parts) text += kParts[random() % std::size(kParts)];
    const auto sign = text.find_last_of("%\\&", text.size() - 2);
    const std::size_t since = text.size() < 2 || sign == std::string::npos ? kLongestSpelling : text.size() - 1 - sign;
    const Spellings ways = spellings_at_end(text);
    ASSERT_TRUE(ways.begin() == ways.end() || may_end_spelling(text, since)) << text;
  }
}

// How often a guest's guesses, over and over, make the search look for a value, which takes time.
std::size_t looks(const QuietText& quiet, const std::string& value, const std::string& guess) {
  std::size_t count = 0;
  Window window = 0;
  for (std::size_t round = 0; round < 100; ++round) {
    for (const char c : guess) {
      window = quiet.push(window, c);
      count += quiet.may_end(window) || QuietText::is_end(window, quiet.window_of(value)) ? 1 : 0;
    }
  }
  return count;
}

// Eight quotes are one character, since each may be doubled: of such a value there is less to compare.
TEST(QuietText, X9_AValueOfFewCharactersDoesNotBetrayTheEndsOfOthers) {
  const std::string value = "Kq7vT2mXw9Lb4RzN8sYc";
  const std::vector<std::string> kShort = {
      "", "\"\"\"\"\"\"\"\"", "a", "\xc2\xc3\x82\x83\xc2\xc3\x82\x83", "bc\\\\\\\\\\",
  };
  const std::size_t alone = looks(QuietText({value}, kKey), value, value);
  EXPECT_GE(alone, 100u);
  for (const std::string& other : kShort) {
    const QuietText quiet({value, other}, kKey);
    if (quiet.window_of(other) == 0) continue;  // it is looked for everywhere, whatever is guessed
    EXPECT_EQ(looks(quiet, value, value), alone) << other;
    for (std::size_t known = 0; known < QuietText::kWindow; ++known) {
      EXPECT_EQ(looks(quiet, value, "~~~~~~~~" + value.substr(value.size() - known)), 0u) << other << known;
    }
  }
}

TEST(QuietText, X9_LettersBeyondAsciiAreToldByEightBytesAsWell) {
  const std::string value = "\xd0\xbf\xd0\xb0\xd1\x80\xd0\xbe\xd0\xbb\xd1\x8c\xd0\xba\xd0\xbb\xd1\x8e\xd1\x87";
  const QuietText quiet({value}, kKey);
  EXPECT_EQ(looks(quiet, value, value), 100u);
  for (std::size_t known = 0; known < QuietText::kWindow; ++known) {
    EXPECT_EQ(looks(quiet, value, "~~~~~~~~" + value.substr(value.size() - known)), 0u) << known;
  }
}

// Those that cannot end in plain text, or are long enough for windows that lie closer together.
TEST(QuietText, PlainTextIsPassedThoughAValueIsShort) {
  const std::string value = "sk-Real_Value_0123456789";
  const std::string plain(1000, 'x');
  for (const std::string other : {"eightchr", "ten-0letters", "fourteen-12345", "''", "\"\"ab\"\"cd", "a%b",
                                  "\xc2\xc3\x82\x83\xc2\xc3\x82\x83"}) {
    const QuietText quiet({value, other}, kKey);
    EXPECT_GT(quiet.pass(plain, 0), 960u) << other;
    for (std::size_t before = 0; before < 100; ++before) {
      EXPECT_LT(quiet.pass(std::string(before, 'x') + value + plain, 0), before + value.size()) << other;
      if (other.size() < QuietText::kWindow || before < QuietText::kWindow) continue;
      EXPECT_LT(quiet.pass(std::string(before, 'x') + other + plain, 0), before + other.size()) << other;
    }
  }
  for (const std::string none : {"", "a", "seven77"}) EXPECT_EQ(QuietText({value, none}, kKey).pass(plain, 0), 0u);
}

TEST(QuietText, PlainTextIsPassed) {
  const std::string value = "sk-Real_Value_0123456789";
  const QuietText quiet({value}, kKey);
  const std::string plain(1000, 'x');
  EXPECT_GT(quiet.pass(plain, 0), 980u);
  EXPECT_EQ(quiet.pass("short", 0), 0u);
  for (std::size_t before = 0; before < 100; ++before) {
    const std::string text = std::string(before, 'x') + value + plain;
    EXPECT_LT(quiet.pass(text, 0), before + value.size());
  }
  for (const char stop : {'%', '\\', '&', '\n'}) {
    const std::string text = std::string(100, 'x') + stop + plain;
    EXPECT_LE(quiet.pass(text, 0), 100u);
  }
}

}  // namespace
}  // namespace cloche::gateway
