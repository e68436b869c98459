#include "cli/options.h"

#include <gtest/gtest.h>

#include <array>

namespace cloche::cli {
namespace {

constexpr auto kTable = std::to_array<OptionSpec>({
    {"--wall", 'w', "DURATION", "Time"},
    {"--read", 0, "PATH", "Grant", {}, Times::kMany},
    {"--quiet", 'q', {}, "Less"},
});

Result<Parsed> parse(std::vector<std::string> words, Grammar grammar = Grammar::kGuest) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  const std::array<Table, 1> tables{kTable};
  return parse_options(tables, pointers, grammar);
}

using Words = std::vector<std::string>;

TEST(Options, ValueWithSpaceOrEquals) {
  EXPECT_EQ(parse({"--wall", "1s", "x"})->value("--wall"), "1s");
  EXPECT_EQ(parse({"--wall=1s", "x"})->value("--wall"), "1s");
  EXPECT_EQ(parse({"-w1s", "x"})->value("--wall"), "1s");
  EXPECT_EQ(parse({"-qw", "1s", "x"})->value("--wall"), "1s");
}

TEST(Options, C6_EverythingAfterTheFirstOperandIsTheGuests) {
  const auto parsed = parse({"-q", "x.py", "--wall", "--", "-q", "--nope"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->operands, (Words{"x.py", "--wall", "--", "-q", "--nope"}));
  EXPECT_FALSE(parsed->dashes);
  EXPECT_FALSE(parsed->has("--wall"));
}

TEST(Options, C6_EverythingAfterTwoDashesIsTheGuests) {
  const auto parsed = parse({"--", "-q", "--", "--wall"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->operands, (Words{"-q", "--", "--wall"}));
  EXPECT_TRUE(parsed->dashes);
}

TEST(Options, ADashAloneIsAnOperand) { EXPECT_EQ(parse({"-", "-q"})->operands, (Words{"-", "-q"})); }

TEST(Options, OptionsMayFollowOperandsWhereNothingIsTheGuests) {
  const auto parsed = parse({"a", "-q", "b"}, Grammar::kMixed);
  EXPECT_EQ(parsed->operands, (Words{"a", "b"}));
  EXPECT_TRUE(parsed->has("--quiet"));
}

TEST(Options, P3_RefusesWhatItWouldHaveToGuess) {
  EXPECT_NE(parse({"--wal", "1s"}).error().hint.find("--wall"), std::string::npos);
  EXPECT_FALSE(parse({"--wall"}));
  EXPECT_FALSE(parse({"--wall", "1s", "--wall", "2s"}));
  EXPECT_FALSE(parse({"--quiet=1"}));
  EXPECT_FALSE(parse({"-z"}));
  EXPECT_TRUE(parse({"--read", "a", "--read", "b"}));
}

TEST(Options, HelpNamesEveryOption) {
  const std::string help = options_help(kTable);
  for (const OptionSpec& spec : kTable) EXPECT_NE(help.find(spec.name), std::string::npos);
}

}  // namespace
}  // namespace cloche::cli
