#include "outputs/show.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "outputs/test_support.h"

namespace cloche::outputs {
namespace {

using tree::TempTree;

std::string difference(const TempTree& tree, const Outputs& outputs, const Terms& terms, Look look) {
  std::string text;
  const Status shown = show_difference(tree.fd(), proposed(tree, outputs, terms), outputs, look, [&](auto piece) {
    text += piece;
    return true;
  });
  EXPECT_TRUE(shown) << shown.error().text();
  return text;
}

TEST(ShowOutputs, R4_ShowsWhatWouldBeWrittenAndNothingElse) {
  const TempTree tree;
  hand_back(tree, {{"a", "one\n"}, {"b", "one\n"}, {"same", "1"}, {"edited", "1"}}, terms_of("p"));
  tree.file("edited", "2");
  EXPECT_EQ(difference(tree, {{"a", "two\n"}, {"same", "1"}, {"new", "n\n", true}, {"edited", "3"}},
                       terms_of("p", OnConflict::kSkip, OnStale::kPrune), Look::kExact),
            "--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-one\n+two\n"
            "new is executable\n--- /dev/null\n+++ b/new\n@@ -0,0 +1,1 @@\n+n\n"
            "--- a/b\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-one\n");
}

TEST(ShowOutputs, R4_ATerminalIsSentNothingThatItObeys) {
  const TempTree tree;
  tree.file("a", "\x1b[2Jold\n");
  const Terms terms = terms_of("p", OnConflict::kForce);
  const Outputs outputs{{"a", "\x1b]0;title\x07 \u202e\n"}, {"b", "\x9b"}};
  EXPECT_NE(difference(tree, outputs, terms, Look::kExact).find('\x1b'), std::string::npos);
  const std::string text = difference(tree, outputs, terms, Look::kHarmless);
  EXPECT_EQ(text.find_first_of("\x1b\x07\x9b"), std::string::npos) << text;
  EXPECT_EQ(text.find("\u202e"), std::string::npos);
}

TEST(ShowOutputs, WhatIsNoTextIsShownBySizeAndDigest) {
  const TempTree tree;
  tree.link("link", "nowhere");
  const std::string text =
      difference(tree, {{"bin", std::string("\0\x1b", 2)}, {"link", "x"}, {"large", std::string(11 << 20, 'x')}},
                 terms_of("p", OnConflict::kForce), Look::kHarmless);
  EXPECT_NE(text.find("bin: nothing to 2 bytes, sha256 "), std::string::npos) << text;
  EXPECT_NE(text.find("link: a symbolic link to 1 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("large: nothing to 11534336 bytes"), std::string::npos) << text;
}

TEST(ShowOutputs, AnEmptyFileAndAModeAreSaidInWords) {
  const TempTree tree;
  hand_back(tree, {{"mode", "x\n"}}, terms_of("p"));
  EXPECT_EQ(difference(tree, {{"mode", "x\n", true}}, terms_of("p"), Look::kExact), "mode of mode: 644 to 755\n");
  EXPECT_NE(difference(tree, {{"empty", ""}}, terms_of("q"), Look::kExact).find("empty: nothing to 0 bytes"),
            std::string::npos);
}

TEST(ShowOutputs, R4_TheSummaryListsEveryConflict) {
  const TempTree tree;
  hand_back(tree, {{"a", "1"}}, terms_of("p"));
  tree.file("u", "mine");
  const Proposal proposal = proposed(tree, {{"a", "2"}, {"b", "2"}, {"u", "2"}}, terms_of("q"));
  const std::string text = summary(proposal, Look::kHarmless);
  EXPECT_EQ(text,
            "! conflict  a: owned by p\n"
            "+ add       b\n"
            "! conflict  u: a file that no producer owns is there\n"
            "1 new, 2 in conflict\n");
  EXPECT_NE(summary(proposal, Look::kColour).find("\x1b[31m!"), std::string::npos);
}

TEST(ShowOutputs, JsonSaysTheSame) {
  const TempTree tree;
  hand_back(tree, {{"a", "1"}}, terms_of("p"));
  const auto json =
      nlohmann::json::parse(to_json(proposed(tree, {{"a", "2"}, {"b", "2"}}, terms_of("q")), terms_of("q"), Done::kNo));
  EXPECT_EQ(json["applied"], false);
  EXPECT_EQ(json["conflicts"], 1);
  EXPECT_EQ(json["files"][0]["verdict"], "conflict");
  EXPECT_EQ(json["files"][1]["mode"], "644");
  const auto files = managed_files(tree.fd());
  EXPECT_EQ(nlohmann::json::parse(status_json(*files))["files"][0]["state"], "clean");
  EXPECT_EQ(status_text(*files, Look::kHarmless), "clean        p a\n");
}

}  // namespace
}  // namespace cloche::outputs
