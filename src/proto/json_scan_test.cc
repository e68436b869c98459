#include "proto/json_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "proto/json_print.h"

namespace cloche::proto {
namespace {

using ::testing::HasSubstr;
using namespace std::string_literals;

std::string reprinted(std::string_view text, const JsonLimits& limits = {}) {
  const auto tree = scan_json(text, limits);
  return tree ? print_json(tree->root()) : "refused: " + tree.error().message;
}

bool refused(std::string_view text, const JsonLimits& limits = {}) { return !scan_json(text, limits).has_value(); }

TEST(JsonScan, ReadsEveryKindOfValue) {
  EXPECT_EQ(reprinted(R"( { "a" : [ 1 , -0.5e+10 , true , false , null , "x" , { } , [ ] ] , "b" : "" } )"),
            R"({"a":[1,-0.5e+10,true,false,null,"x",{},[]],"b":""})");
  EXPECT_EQ(reprinted("0"), "0");
  EXPECT_EQ(reprinted("\t\"s\"\r\n"), "\"s\"");
}

TEST(JsonScan, FindsMembers) {
  const std::string text = R"({"a":{"b":[1,2]},"\u0062":7})";
  const auto tree = scan_json(text);
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->root().children().size(), 2u);
  ASSERT_TRUE(tree->root().find("b"));
  EXPECT_EQ(tree->root().find("b")->text(), "7");
  EXPECT_EQ(tree->root().find("a")->text(), R"({"b":[1,2]})");
  EXPECT_FALSE(tree->root().find("c"));
  EXPECT_FALSE(tree->root().find("b")->find("a"));
}

TEST(JsonScan, PrintsOneFormOfAString) {
  EXPECT_EQ(reprinted(R"("\u0041\/\"\\\b\f\n\r\t\u001f\u0000")"), R"("A/\"\\\b\f\n\r\t\u001f\u0000")");
  EXPECT_EQ(reprinted("\"\u00fc\u2028\U0001f600\x7f\""), R"("\u00fc\u2028\ud83d\ude00\u007f")");
  EXPECT_EQ(reprinted(R"("\uD83D\uDE00")"), R"("\ud83d\ude00")");
}

TEST(JsonScan, RefusesWhatIsNotJson) {
  for (const std::string_view text : {"",
                                      " ",
                                      "{",
                                      "}",
                                      "[",
                                      "]",
                                      "[1",
                                      "[1,",
                                      "[1,]",
                                      "[,1]",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\":1,}",
                                      "{a:1}",
                                      "{'a':1}",
                                      "{1:1}",
                                      "nul",
                                      "nulll",
                                      "True",
                                      "NaN",
                                      "Infinity",
                                      "-Infinity",
                                      "-",
                                      "+1",
                                      "01",
                                      "-01",
                                      "1.",
                                      ".5",
                                      "1e",
                                      "1e+",
                                      "0x10",
                                      "1_000",
                                      "\"",
                                      "\"a",
                                      "\"\\\"",
                                      "\"\\x41\"",
                                      "\"\\u12\"",
                                      "\"\\u12g4\"",
                                      "\"\\U0041\"",
                                      "\"\t\"",
                                      "\"\n\"",
                                      "// c\n1",
                                      "/* c */1",
                                      "1 // c",
                                      "1 2",
                                      "{}{}",
                                      "[1]x",
                                      "\xef\xbb\xbf{}",
                                      "[1 2]",
                                      "{\"a\" 1}",
                                      "{\"a\":1 \"b\":2}",
                                      "\v1",
                                      "\f1",
                                      "\xc2\xa0"
                                      "1"}) {
    EXPECT_TRUE(refused(text)) << text;
  }
  EXPECT_TRUE(refused("1\0"s));
  EXPECT_TRUE(refused("\"\0\""s));
}

TEST(JsonScan, RefusesEveryBeginningOfAText) {
  const std::string text = R"({"a":[1,-2.5e3,"\u00e9\ud83d\ude00)"
                           "\u00fc"
                           R"(",true,null],"b":{"c":""}})";
  for (std::size_t size = 0; size < text.size(); ++size) EXPECT_TRUE(refused(text.substr(0, size))) << size;
  EXPECT_FALSE(refused(text));
}

TEST(JsonScan, RefusesAKeyTwiceHoweverItIsWritten) {
  for (const std::string_view text : {R"({"a":1,"a":1})", R"({"method":1,"meth\u006fd":2})", R"({"\u006d":1,"m":2})",
                                      R"({"x":[{"a":1,"b":2,"a":3}]})", R"({"":1,"":2})", R"({"/":1,"\/":2})",
                                      "{\"\u00fc\":1,\"\\u00fc\":2}", R"({"\ud83d\ude00":1,"\uD83D\uDE00":2})"}) {
    EXPECT_THAT(reprinted(text), HasSubstr("twice")) << text;
  }
  EXPECT_FALSE(refused(R"({"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}],"A":1})"));
}

TEST(JsonScan, RefusesANulInAKey) {
  EXPECT_THAT(reprinted(R"({"_context\u0000":1})"), HasSubstr("NUL"));
  EXPECT_FALSE(refused(R"({"a":"\u0000"})"));
}

TEST(JsonScan, RefusesBytesThatAreNotUtf8) {
  for (const std::string_view bytes :
       {"\xff", "\x80", "\xc0\xaf", "\xc1\x81", "\xe0\x80\xaf", "\xed\xa0\x80", "\xed\xb0\x80", "\xf0\x80\x80\x80",
        "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xc3", "\xe2\x82"}) {
    EXPECT_TRUE(refused("\"" + std::string(bytes) + "\""));
    EXPECT_TRUE(refused("{\"" + std::string(bytes) + "\":1}"));
    EXPECT_TRUE(refused("\"\\n" + std::string(bytes) + "\""));
  }
}

TEST(JsonScan, RefusesHalvesOfPairs) {
  for (const std::string_view text : {R"("\ud800")", R"("\udc00")", R"("\ud800\ud800")", R"("\ud800x")",
                                      R"("\udc00\ud800")", R"("\ud800\u0041")", R"("\ud800\n")"}) {
    EXPECT_THAT(reprinted(text), HasSubstr("surrogate")) << text;
  }
}

std::string nested(std::size_t depth, char open, char close) {
  return std::string(depth, open) + std::string(depth, close);
}

TEST(JsonScan, BoundsTheDepth) {
  EXPECT_FALSE(refused(nested(64, '[', ']')));
  EXPECT_TRUE(refused(nested(65, '[', ']')));
  EXPECT_TRUE(refused(std::string(1 << 19, '[')));
  std::string objects;
  for (int i = 0; i < 65; ++i) objects += "{\"a\":";
  EXPECT_THAT(reprinted(objects), HasSubstr("deep"));
}

TEST(JsonScan, BoundsBytesValuesAndNumbers) {
  EXPECT_TRUE(refused("[1,2]", {.max_bytes = 4}));
  EXPECT_FALSE(refused("[1,2]", {.max_bytes = 5}));
  EXPECT_TRUE(refused("[1,2]", {.max_values = 2}));
  EXPECT_FALSE(refused("[1,2]", {.max_values = 3}));
  EXPECT_EQ(reprinted(std::string(1024, '9')), std::string(1024, '9'));
  EXPECT_TRUE(refused(std::string(1025, '9')));
  EXPECT_EQ(reprinted("[1e999999999,123456789012345678901234567890]"), "[1e999999999,123456789012345678901234567890]");
}

TEST(JsonScan, ChecksButDoesNotKeepWhatLiesDeeper) {
  const JsonLimits limits{.max_values = 3, .keep_depth = 1};
  const std::string text = R"({"a":[1,2,3,{"b":4}],"id":5})";
  const auto tree = scan_json(text, limits);
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->root().find("a")->text(), R"([1,2,3,{"b":4}])");
  EXPECT_EQ(tree->root().find("id")->text(), "5");
  EXPECT_TRUE(tree->root().find("a")->children().empty());
  EXPECT_TRUE(refused(R"({"a":[1,2,3,{"b":4,"b":5}]})", limits));
  EXPECT_TRUE(refused(R"({"a":[1,2,3,{"b":}]})", limits));
}

TEST(JsonScan, LeavesAServiceItsKeysAndSurrogates) {
  const JsonLimits service{.manner = JsonManner::kWellFormed};
  EXPECT_FALSE(refused(R"({"a":1,"a":2,"b\u0000":"\ud800"})", service));
  EXPECT_TRUE(refused("\"\xff\"", service));
  EXPECT_TRUE(refused("[1,]", service));
}

// Views of short texts would dangle if the tree kept what it unescaped inside of itself.
TEST(JsonScan, SurvivesBeingMoved) {
  const std::string text = R"("\u0061b")";
  auto first = scan_json(text);
  ASSERT_TRUE(first);
  const JsonTree second = std::move(*first);
  EXPECT_EQ(second.root().text(), "ab");
}

}  // namespace
}  // namespace cloche::proto
