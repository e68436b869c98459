#include "outputs/list_document.h"

#include <gtest/gtest.h>

#include <string>

namespace cloche::outputs {
namespace {

const ListShape kShape{"test", "list", "hint", 3};

std::string error_of(std::string_view text) {
  const auto document = read_list(text, kShape);
  return document ? "no error" : document.error().text();
}

TEST(ListDocument, ReadsPlainMembersAndFlatObjects) {
  const auto document = read_list(R"({"version": 7, "list": [{"a": "x", "b": true}, {}]})", kShape);
  ASSERT_TRUE(document) << document.error().text();
  EXPECT_EQ(std::get<std::uint64_t>(document->top.at("version")), 7u);
  ASSERT_EQ(document->items.size(), 2u);
  EXPECT_EQ(std::get<std::string>(document->items[0].at("a")), "x");
  EXPECT_TRUE(std::get<bool>(document->items[0].at("b")));
}

// RFC 8259 leaves it to the reader, and editors write one.
TEST(ListDocument, AByteOrderMarkAtTheStartIsPassedOver) {
  const auto document = read_list("\xef\xbb\xbf{\"list\": [{\"a\": \"x\"}]}", kShape);
  ASSERT_TRUE(document) << document.error().text();
  EXPECT_EQ(std::get<std::string>(document->items.at(0).at("a")), "x");
  for (const char* text : {"\xef\xbb\xbf", "\xef\xbb{\"list\": []}", "\xef\xbb\xbf\xef\xbb\xbf{\"list\": []}",
                           " \xef\xbb\xbf{\"list\": []}", "{\xef\xbb\xbf\"list\": []}"}) {
    EXPECT_NE(error_of(text).find("no "), std::string::npos) << text << ": " << error_of(text);
    EXPECT_NE(error_of(text), "no error") << text;
  }
}

TEST(ListDocument, RefusesEveryOtherShape) {
  for (const auto& [text, named] : {std::pair{"", "no JSON"},
                                    {"[]", "must be an object"},
                                    {"7", "must be an object"},
                                    {"{}", "list is missing"},
                                    {R"({"list": {}})", "must be a list"},
                                    {R"({"list": null})", "must be a list"},
                                    {R"({"list": "x"})", "must be a list"},
                                    {R"({"list": [1]})", "objects only"},
                                    {R"({"list": [[]]})", "objects only"},
                                    {R"({"list": [], "more": []})", "must be text"},
                                    {R"({"list": [], "more": {}})", "must be text"},
                                    {R"({"list": [{"a": []}]})", "list[0]: \"a\" must be text"},
                                    {R"({"list": [{"a": {}}]})", "must be text"},
                                    {R"({"list": [{"a": null}]})", "must be text"},
                                    {R"({"list": [{"a": 1.5}]})", "must be text"},
                                    {R"({"list": [{"a": -1}]})", "must be text"},
                                    {R"({"list": [{"a": 18446744073709551616}]})", "must be text"},
                                    {R"({"list": [{"a": 1e999}]})", "no JSON"},
                                    {R"({"list": []} x)", "no JSON"},
                                    {R"({"list": [],})", "no JSON"},
                                    {"{\"list\": [{\"a\": \"\xff\"}]}", "no UTF-8"},
                                    {R"({"list": [{"a": "\ud800"}]})", "no JSON"}}) {
    EXPECT_NE(error_of(text).find(named), std::string::npos) << text << ": " << error_of(text);
  }
}

TEST(ListDocument, NothingIsThereTwice) {
  EXPECT_NE(error_of(R"({"list": [], "list": []})").find("twice"), std::string::npos);
  EXPECT_NE(error_of(R"({"a": 1, "a": 1, "list": []})").find("twice"), std::string::npos);
  EXPECT_NE(error_of(R"({"list": [{"path": "p", "a": "1", "a": "1"}]})").find("list[0] (p) has the key \"a\" twice"),
            std::string::npos)
      << error_of(R"({"list": [{"path": "p", "a": "1", "a": "1"}]})");
}

TEST(ListDocument, MoreItemsThanAllowedEndTheReading) {
  EXPECT_TRUE(read_list(R"({"list": [{},{},{}]})", kShape));
  // What follows is no JSON, but nobody gets there.
  EXPECT_NE(error_of(R"({"list": [{},{},{},{} oops)").find("more than 3"), std::string::npos);
}

TEST(ListDocument, KeysOfOneObjectAreBounded) {
  std::string text = R"({"list": [{"k": "")";
  for (int i = 0; i < 16; ++i) text += ",\"" + std::to_string(i) + "\": \"\"";
  EXPECT_NE(error_of(text + "}]}").find("too many keys"), std::string::npos) << error_of(text + "}]}");
}

TEST(ListDocument, DepthIsAnErrorAndNoStackOverflow) {
  EXPECT_NE(error_of(R"({"list": )" + std::string(5'000'000, '[')).find("objects only"), std::string::npos);
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += R"({"list":)";
  EXPECT_NE(error_of(objects).find("must be a list"), std::string::npos);
}

TEST(ListDocument, ErrorsAreOneLineWhateverTheKeys) {
  const std::string text = error_of("{\"list\": [{\"\\u001b[2J\\n\": null}]}");
  EXPECT_EQ(text.find_first_of("\x1b\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace cloche::outputs
