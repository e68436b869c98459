#include "diff/stat.h"

#include <gtest/gtest.h>

#include "diff/test_support.h"

namespace cloche::diff {
namespace {

using testing::below;
using testing::Random;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

TEST(Stat, CountsAddedAndRemovedLines) {
  EXPECT_EQ(count_lines(diff_lines("a\nb\nc\n", "a\nB\nC\nD\nc\n")), (Stat{3, 1}));
  EXPECT_EQ(count_lines(diff_lines("a\n", "a\n")), (Stat{0, 0}));
}

TEST(Stat, DrawsBarsAndSums) {
  const std::vector<FileStat> files = {
      {"src/a.cc", Stat{4, 8}}, {"b", Stat{1, 0}}, {"logo.png", std::nullopt}, {"mode", Stat{}}};
  EXPECT_EQ(stat_text(files),
            " src/a.cc |  12 ++++--------\n"
            " b        |   1 +\n"
            " logo.png | Bin\n"
            " mode     |   0\n"
            " 4 files changed, 5 insertions(+), 8 deletions(-)\n");
  EXPECT_EQ(stat_text(std::vector<FileStat>{{"b", Stat{0, 1}}}), " b | 1 -\n 1 file changed, 1 deletion(-)\n");
  EXPECT_EQ(stat_text({}), "");
}

TEST(Stat, ScalesBarsToTheColumns) {
  const std::vector<FileStat> files = {{"big", Stat{3000, 1000}}, {"one", Stat{1, 0}}, {"two", Stat{1, 1}}};
  const std::vector<std::string> lines = lines_of(stat_text(files, {.columns = 52, .paint = {}}));
  EXPECT_EQ(lines[0], " big | 4000 " + std::string(30, '+') + std::string(10, '-'));
  EXPECT_EQ(lines[1], " one |    1 +");
  EXPECT_EQ(lines[2], " two |    2 +-");
}

TEST(Stat, CutsLongPathsAtTheirBeginning) {
  const std::vector<FileStat> files = {{std::string(100, 'd') + "/name.cc", Stat{50, 50}}, {"短い", Stat{1, 0}}};
  const std::vector<std::string> lines = lines_of(stat_text(files, {.columns = 40, .paint = {}}));
  EXPECT_EQ(lines[0], " ...ddddddddddd/name.cc | 100 +++++-----");
  EXPECT_EQ(lines[0].size(), 40u);
  EXPECT_EQ(lines[1], " 短い                   |   1 +");
}

TEST(Stat, QuotesPathsAndPaintsSigns) {
  const std::vector<FileStat> files = {{"a\x1b[2J", Stat{1, 1}}};
  EXPECT_EQ(lines_of(stat_text(files, {.columns = 80, .paint = {"", "", "<g>", "<r>", "</>"}}))[0],
            " \"a\\033[2J\" | 2 <g>+</><r>-</>");
}

TEST(Stat, NoLineIsWiderThanTheColumnsAndEachSideThatChangedShows) {
  Random random(40);
  for (int round = 0; round < 2000; ++round) {
    std::vector<FileStat> files(1 + below(random, 4));
    for (FileStat& file : files) {
      file = {std::string(1 + below(random, 90), 'p'),
              Stat{random() >> (40 + below(random, 24)), random() >> (40 + below(random, 24))}};
    }
    const std::size_t columns = 40 + below(random, 100);
    const std::vector<std::string> lines = lines_of(stat_text(files, {.columns = columns, .paint = {}}));
    for (std::size_t i = 0; i < files.size(); ++i) {
      ASSERT_LE(lines[i].size(), columns) << lines[i];
      ASSERT_EQ(lines[i].find('+') != std::string::npos, files[i].stat->added > 0) << lines[i];
      ASSERT_EQ(lines[i].find('-') != std::string::npos, files[i].stat->removed > 0) << lines[i];
    }
  }
}

}  // namespace
}  // namespace cloche::diff
