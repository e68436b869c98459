#include "diff/hunks.h"

#include <gtest/gtest.h>

#include "diff/test_support.h"

namespace cloche::diff {
namespace {

using testing::all_of;
using testing::below;
using testing::changed;
using testing::Random;

constexpr LineKind kContext = LineKind::kContext;
constexpr LineKind kRemoved = LineKind::kRemoved;
constexpr LineKind kAdded = LineKind::kAdded;

TEST(Hunks, EqualTextsHaveNone) {
  EXPECT_TRUE(diff_lines("", "").empty());
  EXPECT_TRUE(diff_lines("a\nb", "a\nb").empty());
}

TEST(Hunks, ShowAChangeWithThreeLinesAround) {
  const std::vector<Hunk> hunks = diff_lines("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n");
  const Hunk wanted{2,
                    7,
                    2,
                    7,
                    {{kContext, "2\n"},
                     {kContext, "3\n"},
                     {kContext, "4\n"},
                     {kRemoved, "5\n"},
                     {kAdded, "five\n"},
                     {kContext, "6\n"},
                     {kContext, "7\n"},
                     {kContext, "8\n"}}};
  ASSERT_EQ(hunks.size(), 1u);
  EXPECT_EQ(hunks[0], wanted);
}

TEST(Hunks, OfNoLineNameTheLineBefore) {
  EXPECT_EQ(diff_lines("", "a\n"), (std::vector<Hunk>{{0, 0, 1, 1, {{kAdded, "a\n"}}}}));
  EXPECT_EQ(diff_lines("a\n", ""), (std::vector<Hunk>{{1, 1, 0, 0, {{kRemoved, "a\n"}}}}));
  EXPECT_EQ(diff_lines("a\nb\n", "a\nx\nb\n", 0), (std::vector<Hunk>{{1, 0, 2, 1, {{kAdded, "x\n"}}}}));
}

TEST(Hunks, AMissingLineFeedIsAChange) {
  EXPECT_EQ(diff_lines("a\nb", "a\nb\n", 1),
            (std::vector<Hunk>{{1, 2, 1, 2, {{kContext, "a\n"}, {kRemoved, "b"}, {kAdded, "b\n"}}}}));
}

TEST(Hunks, AreOneWhereTheirContextTouches) {
  const std::string old_text = "x\n1\n2\n3\n4\n5\n6\ny\n";
  const std::string new_text = "X\n1\n2\n3\n4\n5\n6\nY\n";
  EXPECT_EQ(diff_lines(old_text, new_text, 3).size(), 1u);
  EXPECT_EQ(diff_lines(old_text, new_text, 2).size(), 2u);
  EXPECT_EQ(diff_lines(old_text, new_text, static_cast<std::size_t>(-1)).size(), 1u);
}

// Numbers, order and context, counted again from the texts.
void expect_consistent(const std::vector<Hunk>& hunks, std::size_t context) {
  std::ptrdiff_t shift = 0;
  std::size_t end_before = 0;
  for (const Hunk& hunk : hunks) {
    std::size_t old_count = 0;
    std::size_t new_count = 0;
    std::size_t run = 0;
    bool changes = false;
    for (const Line& line : hunk.lines) {
      old_count += line.kind != kAdded ? 1 : 0;
      new_count += line.kind != kRemoved ? 1 : 0;
      run = line.kind == kContext ? run + 1 : 0;
      changes |= line.kind != kContext;
      ASSERT_LE(run, 2 * context);
    }
    ASSERT_TRUE(changes);
    ASSERT_LE(run, context);
    ASSERT_EQ(old_count, hunk.old_count);
    ASSERT_EQ(new_count, hunk.new_count);
    const std::size_t old_begin = hunk.old_start - (old_count > 0 ? 1 : 0);
    const std::size_t new_begin = hunk.new_start - (new_count > 0 ? 1 : 0);
    ASSERT_TRUE(old_begin > end_before || &hunk == hunks.data());
    ASSERT_EQ(static_cast<std::ptrdiff_t>(old_begin) + shift, static_cast<std::ptrdiff_t>(new_begin));
    end_before = old_begin + old_count;
    shift += static_cast<std::ptrdiff_t>(new_count) - static_cast<std::ptrdiff_t>(old_count);
  }
}

TEST(ApplyHunks, AllGiveTheNewTextAndNoneTheOldOne) {
  Random random(10);
  for (int round = 0; round < 3000; ++round) {
    const std::size_t different = 1 + below(random, 40);
    const std::size_t context = below(random, 5);
    const std::string old_text = testing::random_text(random, 60, different);
    const std::string new_text =
        below(random, 4) == 0 ? testing::random_text(random, 60, different) : changed(random, old_text, different);
    const std::vector<Hunk> hunks = diff_lines(old_text, new_text, context);
    ASSERT_NO_FATAL_FAILURE(expect_consistent(hunks, context)) << "round " << round;
    ASSERT_EQ(apply_hunks(old_text, hunks, all_of(hunks)), new_text) << "round " << round;
    ASSERT_EQ(apply_hunks(old_text, hunks, {}), old_text);
  }
}

// The hunks left out are what is left to do: with the chosen ones applied, the others alone still lead to the new text.
TEST(ApplyHunks, ASubsetAndThenTheRestGiveTheNewText) {
  Random random(11);
  std::size_t tried = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::string old_text = testing::random_text(random, 80, 200);
    const std::string new_text = changed(random, old_text, 200);
    const std::vector<Hunk> hunks = diff_lines(old_text, new_text, below(random, 3));
    std::vector<std::size_t> chosen;
    std::vector<Hunk> rest;
    std::ptrdiff_t shift = 0;
    for (std::size_t i = 0; i < hunks.size(); ++i) {
      if (below(random, 2) == 0) {
        chosen.push_back(i);
        shift += static_cast<std::ptrdiff_t>(hunks[i].new_count) - static_cast<std::ptrdiff_t>(hunks[i].old_count);
      } else {
        rest.push_back(hunks[i]);
        rest.back().old_start += static_cast<std::size_t>(shift);
      }
    }
    std::shuffle(chosen.begin(), chosen.end(), random);
    const Result<std::string> between = apply_hunks(old_text, hunks, chosen);
    ASSERT_TRUE(between.has_value());
    ASSERT_EQ(apply_hunks(*between, rest, all_of(rest)), new_text) << "round " << round;
    tried += !chosen.empty() && !rest.empty() ? 1 : 0;
  }
  EXPECT_GT(tried, 500u);
}

TEST(ApplyHunks, ChoosesOne) {
  const std::string old_text = "a\n1\n2\n3\nb\n";
  const std::vector<Hunk> hunks = diff_lines(old_text, "A\n1\n2\n3\nB", 1);
  ASSERT_EQ(hunks.size(), 2u);
  EXPECT_EQ(apply_hunks(old_text, hunks, std::vector<std::size_t>{0}), "A\n1\n2\n3\nb\n");
  EXPECT_EQ(apply_hunks(old_text, hunks, std::vector<std::size_t>{1}), "a\n1\n2\n3\nB");
  EXPECT_EQ(apply_hunks(old_text, hunks, std::vector<std::size_t>{1, 1}), "a\n1\n2\n3\nB");
}

TEST(ApplyHunks, RefusesAnotherText) {
  const std::vector<Hunk> hunks = diff_lines("a\nb\nc\n", "a\nB\nc\n");
  const std::vector<std::size_t> chosen = {0};
  for (const char* other : {"", "a\nb\n", "a\nb\nx\n", "x\nb\nc\n", "a\nb\nc", "0\na\nb\nc\n"}) {
    const Result<std::string> result = apply_hunks(other, hunks, chosen);
    ASSERT_FALSE(result.has_value()) << other;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidInput);
    EXPECT_EQ(result.error().text(),
              "apply hunk 1: the text is not the one that the difference was made of; make the difference again");
  }
}

TEST(ApplyHunks, RefusesHunksThatNoDifferenceHas) {
  const std::vector<std::size_t> both = {0, 1};
  const Hunk first{1, 1, 1, 1, {{kContext, "a\n"}}};
  EXPECT_FALSE(apply_hunks("a\n", std::vector<Hunk>{first, first}, both).has_value());
  const std::vector<std::size_t> one = {0};
  EXPECT_FALSE(apply_hunks("a\n", std::vector<Hunk>{{0, 1, 1, 1, {{kContext, "a\n"}}}}, one).has_value());
  EXPECT_FALSE(apply_hunks("a\n", std::vector<Hunk>{{9, 0, 9, 1, {{kAdded, "b\n"}}}}, one).has_value());
}

TEST(ApplyHunks, RefusesAnIndexOutOfRange) {
  const std::vector<Hunk> hunks = diff_lines("a\n", "b\n");
  const Result<std::string> result = apply_hunks("a\n", hunks, std::vector<std::size_t>{1});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().text(), "choose hunks: there is no hunk 2; the difference has 1");
}

// Ten million bytes a side, of lines that are short, few and in no order, and then of nearly as many different lines as
// there are; the test's time-out stands guard.
TEST(Hunks, HostileTextsOfTenMegabytesEnd) {
  Random random(12);
  const std::pair<std::size_t, std::size_t> cases[] = {{9, 10'000'000}, {900'000, 2'000'000}};
  for (const auto& [different, bytes] : cases) {
    std::string texts[2];
    for (std::string& text : texts) {
      while (text.size() < bytes) text += std::to_string(below(random, different)) + '\n';
    }
    const std::vector<Hunk> hunks = diff_lines(texts[0], texts[1]);
    EXPECT_EQ(apply_hunks(texts[0], hunks, all_of(hunks)), texts[1]);
  }
}

}  // namespace
}  // namespace cloche::diff
