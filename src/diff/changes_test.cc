#include "diff/changes.h"

#include <gtest/gtest.h>

#include "diff/myers.h"
#include "diff/test_support.h"

namespace cloche::diff {
namespace {

using testing::below;
using testing::Random;
using Ids = std::vector<std::uint32_t>;

Ids random_ids(Random& random, std::size_t at_most, std::size_t different) {
  Ids ids(below(random, at_most + 1));
  for (auto& id : ids) id = static_cast<std::uint32_t>(below(random, different));
  return ids;
}

Ids kept(const Ids& ids, const std::vector<bool>& gone) {
  Ids out;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!gone[i]) out.push_back(ids[i]);
  }
  return out;
}

// The textbook table, as the second opinion.
std::size_t longest_common(const Ids& a, const Ids& b) {
  std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      table[i][j] = a[i - 1] == b[j - 1] ? table[i - 1][j - 1] + 1 : std::max(table[i - 1][j], table[i][j - 1]);
    }
  }
  return table[a.size()][b.size()];
}

TEST(Myers, TheEditIsAnEditAndTheShortestOne) {
  Random random(1);
  for (int round = 0; round < 3000; ++round) {
    const std::size_t different = 1 + below(random, 12);
    const Ids a = random_ids(random, 40, different);
    const Ids b = random_ids(random, 40, different);
    const Edit edit = shortest_edit(a, b, 4096);
    ASSERT_EQ(kept(a, edit.removed), kept(b, edit.added));
    ASSERT_EQ(kept(a, edit.removed).size(), longest_common(a, b)) << "round " << round;
  }
}

TEST(Myers, WithLittleEffortTheEditIsStillAnEdit) {
  Random random(2);
  for (int round = 0; round < 3000; ++round) {
    const std::size_t different = 1 + below(random, 12);
    const Ids a = random_ids(random, 60, different);
    const Ids b = random_ids(random, 60, different);
    const Edit edit = shortest_edit(a, b, static_cast<std::int32_t>(1 + below(random, 6)));
    ASSERT_EQ(kept(a, edit.removed), kept(b, edit.added)) << "round " << round;
  }
}

// Without the bound this is 10^11 steps, and the test's time-out would say so.
TEST(Myers, TextsMadeToBeHardEnd) {
  Random random(3);
  Ids a(1'000'000);
  Ids b(1'000'000);
  for (auto& id : a) id = static_cast<std::uint32_t>(below(random, 1000));
  for (auto& id : b) id = static_cast<std::uint32_t>(below(random, 1000));
  const Edit edit = shortest_edit(a, b, 64);
  EXPECT_EQ(kept(a, edit.removed), kept(b, edit.added));
}

// Two of these collide as lines that a guest has made would.
constexpr LineHash kHashes[] = {hash_line, [](std::string_view) -> std::size_t { return 7; },
                                [](std::string_view line) -> std::size_t { return line.size(); }};

TEST(LineIds, EqualLinesAndOnlyTheyHaveTheSameId) {
  Random random(4);
  for (std::size_t round = 0; round < 300; ++round) {
    const std::string old_text = testing::random_text(random, 50, 20);
    const std::string new_text = testing::random_text(random, 50, 20);
    const Lines old_lines(old_text);
    const Lines new_lines(new_text);
    const LineIds ids =
        number_lines(old_lines, {0, old_lines.size()}, new_lines, {0, new_lines.size()}, kHashes[round % 3]);
    for (std::size_t i = 0; i < old_lines.size(); ++i) {
      bool has_partner = false;
      for (std::size_t j = 0; j < new_lines.size(); ++j) {
        ASSERT_EQ(ids.old_ids[i] == ids.new_ids[j], old_lines[i] == new_lines[j]);
        has_partner |= old_lines[i] == new_lines[j];
      }
      ASSERT_EQ((ids.sides[ids.old_ids[i]] & LineIds::kNew) != 0, has_partner);
    }
  }
}

TEST(Lines, KeepTheirEnds) {
  EXPECT_EQ(Lines("").size(), 0u);
  const Lines lines("a\n\r\n\nb");
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "a\n");
  EXPECT_EQ(lines[1], "\r\n");
  EXPECT_EQ(lines[2], "\n");
  EXPECT_EQ(lines[3], "b");
  EXPECT_EQ(lines.between(1, 3), "\r\n\n");
  EXPECT_EQ(lines.between(0, 0), "");
  EXPECT_EQ(lines.between(4, 4), "");
}

TEST(Changes, AreApartByALineThatBothHave) {
  Random random(5);
  for (int round = 0; round < 500; ++round) {
    const std::string old_text = testing::random_text(random, 40, 8);
    const std::string new_text = testing::changed(random, old_text, 8);
    const Lines old_lines(old_text);
    const Lines new_lines(new_text);
    Change before{};
    bool first = true;
    for (const Change& change : find_changes(old_lines, new_lines)) {
      ASSERT_GT(change.old_span.size() + change.new_span.size(), 0u);
      const std::size_t gap = change.old_span.begin - before.old_span.end;
      ASSERT_EQ(old_lines.between(before.old_span.end, change.old_span.begin),
                new_lines.between(before.new_span.end, change.new_span.begin));
      ASSERT_TRUE(first || gap > 0);
      before = change;
      first = false;
    }
    ASSERT_EQ(old_lines.between(before.old_span.end, old_lines.size()),
              new_lines.between(before.new_span.end, new_lines.size()));
  }
}

// Nine of ten lines are on one side alone. Were they searched, the effort would be used up on them.
TEST(Changes, LinesWithoutAPartnerCostNoEffort) {
  std::string texts[2];
  for (std::size_t i = 0; i < 200'000; ++i) {
    for (std::size_t side = 0; side < 2; ++side) {
      const bool is_shared = i % 10 == 0;
      texts[side] += (is_shared ? "shared " : side == 0 ? "old " : "new ") + std::to_string(i) + '\n';
    }
    if (i % 7 == 0) texts[0] += "more of old\n";
  }
  EXPECT_EQ(find_changes(Lines(texts[0]), Lines(texts[1])).size(), 20'000u);
}

// Nothing but line feeds and one letter: the most lines that a text of its size can have.
TEST(Changes, BeyondTheMostLinesOneChangeReplacesAll) {
  const std::string old_text = "a\n" + std::string(kMostLines / 2, '\n') + "b\n";
  const std::string new_text = "c\n" + std::string(kMostLines / 2, '\n') + "d\n";
  const Lines old_lines(old_text);
  const Lines new_lines(new_text);
  const std::vector<Change> changes = find_changes(old_lines, new_lines);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0], (Change{{0, old_lines.size()}, {0, new_lines.size()}}));
}

}  // namespace
}  // namespace cloche::diff
