#include "report/json_writer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace cloche {
namespace {

using Json = nlohmann::ordered_json;

// The same bytes that the library writes from a tree: indented by two, everything but ASCII escaped.
std::string by_the_library(const Json& json) { return json.dump(2, ' ', true, Json::error_handler_t::replace); }

TEST(JsonWriter, WritesWhatTheLibraryWouldWrite) {
  const std::vector<std::string> texts = {"",
                                          "plain",
                                          "quote \" slash \\ / tab \t line \n return \r feed \f back \b",
                                          std::string("nul \0 in it", 11),
                                          "\x01\x1f\x7f",
                                          "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80 \xef\xbf\xbf \xf4\x8f\xbf\xbf",
                                          "not text: \xff\xfe",
                                          "cut: \xe2\x82",
                                          "over-long: \xc0\x80, surrogate: \xed\xa0\x80"};
  JsonWriter writer;
  writer.begin_object();
  writer.strings("texts", texts);
  writer.name("empty").begin_array();
  writer.end_array();
  writer.name("nothing").begin_object();
  writer.end_object();
  writer.name("nested").begin_array();
  writer.begin_object();
  writer.member("flag", true);
  writer.member("number", -7);
  writer.member("large", std::uint64_t{18446744073709551615ull});
  writer.name("none").null();
  writer.end_object();
  writer.begin_array();
  writer.value(1);
  writer.value(2);
  writer.end_array();
  writer.end_array();
  writer.end_object();

  Json json = Json::object();
  json["texts"] = texts;
  json["empty"] = Json::array();
  json["nothing"] = Json::object();
  json["nested"] = {
      Json::object({{"flag", true}, {"number", -7}, {"large", 18446744073709551615ull}, {"none", nullptr}}),
      Json::array({1, 2})};
  EXPECT_EQ(writer.take(), by_the_library(json));
}

TEST(JsonWriter, EveryByteComesBack) {
  for (int c = 0; c < 256; ++c) {
    JsonWriter writer;
    writer.value(std::string(1, static_cast<char>(c)));
    const std::string text = writer.take();
    EXPECT_EQ(text, by_the_library(Json(std::string(1, static_cast<char>(c))))) << c;
  }
}

}  // namespace
}  // namespace cloche
