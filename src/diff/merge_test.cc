#include "diff/merge.h"

#include <gtest/gtest.h>

#include "diff/test_support.h"

namespace cloche::diff {
namespace {

using testing::below;
using testing::changed;
using testing::Random;

Merge clean(std::string text) { return {std::move(text), 0}; }

TEST(Merge, EqualSidesGiveThatSide) {
  Random random(20);
  for (int round = 0; round < 1000; ++round) {
    const std::string base = testing::random_text(random, 40, 10);
    const std::string side = changed(random, base, 10);
    ASSERT_EQ(merge_lines(base, side, side), clean(side)) << "round " << round;
  }
}

TEST(Merge, AnUnchangedSideGivesTheOther) {
  Random random(21);
  for (int round = 0; round < 1000; ++round) {
    const std::string base = testing::random_text(random, 40, 10);
    const std::string side = below(random, 4) == 0 ? testing::random_text(random, 40, 10) : changed(random, base, 10);
    ASSERT_EQ(merge_lines(base, side, base), clean(side)) << "round " << round;
    ASSERT_EQ(merge_lines(base, base, side), clean(side)) << "round " << round;
  }
}

// Blocks of lines that occur once; every other block is left alone, the rest belongs to one side or to nobody.
TEST(Merge, DisjointChangesBothLand) {
  Random random(22);
  for (int round = 0; round < 1000; ++round) {
    std::string base, ours, theirs, both;
    for (std::size_t block = 0; block < 12; ++block) {
      const std::string kept = "kept " + std::to_string(block) + "\n";
      const std::string old_block = below(random, 3) == 0 ? "" : "old " + std::to_string(block) + "\n";
      const std::string new_block = below(random, 3) == 0 ? "" : "new " + std::to_string(block) + "\n";
      const std::size_t owner = below(random, 3);
      base += kept + old_block;
      ours += kept + (owner == 0 ? new_block : old_block);
      theirs += kept + (owner == 1 ? new_block : old_block);
      both += kept + (owner == 2 ? old_block : new_block);
    }
    ASSERT_EQ(merge_lines(base, ours, theirs), clean(both)) << "round " << round;
  }
}

// A merge with the halves of its conflicts exchanged. The texts of these tests have no line that looks like a marker.
std::string with_halves_swapped(const std::string& text) {
  std::string out, first;
  std::string* into = &out;
  std::string second;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string line = text.substr(begin, end - begin);
    begin = end;
    if (line == "<<<<<<< ours\n") {
      into = &first;
    } else if (line == "=======\n") {
      into = &second;
    } else if (line == ">>>>>>> theirs\n") {
      out += "<<<<<<< ours\n" + second + "=======\n" + first + ">>>>>>> theirs\n";
      first.clear(), second.clear();
      into = &out;
    } else {
      *into += line;
    }
  }
  return out;
}

TEST(Merge, TheOrderOfTheSidesOnlySwapsTheHalvesOfConflicts) {
  Random random(23);
  std::size_t conflicts = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::size_t different = 2 + below(random, 30);
    const std::string base = testing::random_text(random, 40, different);
    const std::string ours = changed(random, base, different);
    const std::string theirs = changed(random, base, different);
    const Merge one = merge_lines(base, ours, theirs);
    const Merge other = merge_lines(base, theirs, ours);
    ASSERT_EQ(one.conflicts, other.conflicts);
    ASSERT_EQ(with_halves_swapped(one.text), other.text) << "round " << round;
    conflicts += one.conflicts;
  }
  EXPECT_GT(conflicts, 100u);
}

TEST(Merge, MarksAConflictAsGitDoes) {
  const Merge merge = merge_lines("a\nb\nc\n", "a\nours\nc\n", "a\ntheirs\nc\n");
  EXPECT_EQ(merge.text, "a\n<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> theirs\nc\n");
  EXPECT_EQ(merge.conflicts, 1u);
  EXPECT_EQ(merge_lines("", "x\n", "y\n", {.ours = "yours", .theirs = "the run's"}).text,
            "<<<<<<< yours\nx\n=======\ny\n>>>>>>> the run's\n");
}

TEST(Merge, AHalfMayBeEmpty) {
  const Merge merge = merge_lines("a\nb\nc\n", "a\nc\n", "a\nB\nc\n");
  EXPECT_EQ(merge.text, "a\n<<<<<<< ours\n=======\nB\n>>>>>>> theirs\nc\n");
}

TEST(Merge, ChangesThatTouchConflict) {
  // Each half is what its side made of all lines that either side changed.
  EXPECT_EQ(merge_lines("a\nb\nc\nd\n", "a\nB\nc\nd\n", "a\nb\nC\nd\n"),
            (Merge{"a\n<<<<<<< ours\nB\nc\n=======\nb\nC\n>>>>>>> theirs\nd\n", 1}));
  EXPECT_EQ(merge_lines("a\nb\nc\nd\n", "a\nX\nc\nY\n", "1\n2\n3\n4\n"),
            (Merge{"<<<<<<< ours\na\nX\nc\nY\n=======\n1\n2\n3\n4\n>>>>>>> theirs\n", 1}));
  EXPECT_EQ(merge_lines("a\nb\nm\nc\nd\n", "a\nB\nm\nc\nd\n", "a\nb\nm\nC\nd\n"), clean("a\nB\nm\nC\nd\n"));
}

TEST(Merge, WhatBothHalvesShareIsOutsideOfTheMarkers) {
  const Merge merge = merge_lines("0\n", "same\nx\nend\n", "same\ny\nz\nend\n");
  EXPECT_EQ(merge.text, "same\n<<<<<<< ours\nx\n=======\ny\nz\n>>>>>>> theirs\nend\n");
}

TEST(Merge, AMarkerBeginsItsLineAlsoAfterAMissingLineFeed) {
  EXPECT_EQ(merge_lines("a", "b", "c").text, "<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n");
  EXPECT_EQ(merge_lines("a\n", "a", "a\nb\n").text, "<<<<<<< ours\na\n=======\na\nb\n>>>>>>> theirs\n");
}

TEST(Merge, CountsTheConflictsThatItMade) {
  const std::string marked = "<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n";
  EXPECT_EQ(merge_lines("", marked, ""), clean(marked));
}

}  // namespace
}  // namespace cloche::diff
