#include "proto/http_message.h"

#include <gtest/gtest.h>

#include "proto/http_reply.h"
#include "proto/http_target.h"

namespace cloche::proto {
namespace {

HttpHeaders sample() { return {{{"A", "1"}, {"b", "2"}, {"a", "3"}, {"C", "x, ,y"}, {"c", "Z"}}}; }

TEST(HttpHeaders, AreFoundWithoutRegardToCase) {
  const HttpHeaders headers = sample();
  EXPECT_EQ(headers.find("a")->value, "1");
  EXPECT_EQ(headers.count("A"), 2u);
  EXPECT_EQ(headers.find("d"), nullptr);
  EXPECT_EQ(headers.elements("c"), (std::vector<std::string_view>{"x", "y", "Z"}));
  EXPECT_TRUE(headers.has_element("C", "z"));
  EXPECT_FALSE(headers.has_element("C", ""));
}

TEST(HttpHeaders, AreSetInPlaceAndRemovedAll) {
  HttpHeaders headers = sample();
  headers.set("a", "9");
  headers.set("New", "n");
  EXPECT_EQ(headers.remove("C"), 2u);
  EXPECT_EQ(headers, (HttpHeaders{{{"A", "9"}, {"b", "2"}, {"New", "n"}}}));
}

TEST(HttpHeaders, MeantForOneHopAreRemoved) {
  HttpHeaders headers{{{"Connection", "x-a, keep-alive"},
                       {"X-A", "1"},
                       {"X-B", "2"},
                       {"TE", "trailers"},
                       {"connection", "X-C"},
                       {"x-c", "3"},
                       {"Upgrade", "h2c"},
                       {"Proxy-Authorization", "s"}}};
  remove_hop_by_hop(headers);
  EXPECT_EQ(headers, (HttpHeaders{{{"X-B", "2"}}}));
}

TEST(HttpMessage, WhatWouldBreakOutIsNotSent) {
  HttpRequestHead good;
  good.method = "GET";
  good.target = "/";
  good.headers.add("Host", "a");
  ASSERT_TRUE(check_head(good));
  const auto spoilt = [&](auto change) {
    HttpRequestHead head = good;
    change(head);
    const Status status = check_head(head);
    return !status.has_value() && !status.error().text().contains("hunter2");
  };
  EXPECT_TRUE(spoilt([](auto& h) { h.method = "GET /"; }));
  EXPECT_TRUE(spoilt([](auto& h) { h.target = "/ HTTP/1.1\r\nX: "; }));
  EXPECT_TRUE(spoilt([](auto& h) { h.target = "/\n"; }));
  EXPECT_TRUE(spoilt([](auto& h) { h.version_minor = 2; }));
  EXPECT_TRUE(spoilt([](auto& h) { h.framing.kind = HttpFramingKind::kUntilClose; }));
  EXPECT_TRUE(spoilt([](auto& h) { h.version_minor = 0, h.framing.kind = HttpFramingKind::kChunked; }));
  EXPECT_TRUE(spoilt([](auto& h) { h.headers.add("X", "hunter2\r\nHost: b"); }));
  EXPECT_TRUE(spoilt([](auto& h) { h.headers.add("X", std::string("hunter2\0", 8)); }));
  EXPECT_TRUE(spoilt([](auto& h) { h.headers.add("X", " hunter2"); }));
  EXPECT_TRUE(spoilt([](auto& h) { h.headers.add("X:", ""); }));
  EXPECT_TRUE(spoilt([](auto& h) { h.headers.add("content-length", "3"); }));
  EXPECT_TRUE(spoilt([](auto& h) { h.headers.add("host", "b"); }));
  EXPECT_TRUE(spoilt([](auto& h) { h.headers.remove("host"); }));
  EXPECT_TRUE(spoilt([](auto& h) { h.headers.set("host", "u@b"); }));

  HttpResponseHead answer;
  ASSERT_TRUE(check_head(answer));
  answer.reason = "OK\r\nX: y";
  EXPECT_FALSE(check_head(answer));
}

TEST(HttpAuthority, HasOneText) {
  for (const char* text : {"a", "A.b-c_d", "1.2.3.4:80", "[::1]", "[::ffff:1.2.3.4]:65535"}) {
    const auto place = parse_authority(text);
    ASSERT_TRUE(place.has_value()) << text;
    EXPECT_EQ(place->text(), text);
  }
  EXPECT_EQ(parse_authority("[::1]:8")->host, "::1");
  EXPECT_FALSE(parse_authority(std::string(256, 'a')));
  EXPECT_FALSE(parse_authority("[]"));
  EXPECT_FALSE(parse_authority("[::1"));
  EXPECT_FALSE(parse_authority("[1.2.3.4]"));
  EXPECT_FALSE(parse_authority(std::string_view("a\0", 2)));
  EXPECT_FALSE(parse_authority(std::string_view("[::1\0]", 6)));
}

TEST(HttpQuery, IsFoundDecoded) {
  EXPECT_EQ(query_values("/?a=1&b=2&%61=3+4%2B&a", "a"), (std::vector<std::string>{"1", "3 4+", ""}));
  EXPECT_TRUE(query_values("/a=1", "a").empty());
  EXPECT_TRUE(query_values("/?aa=1", "a").empty());
  EXPECT_EQ(query_values("/?q=a=b?c", "q"), std::vector<std::string>{"a=b?c"});
}

TEST(HttpQuery, IsReplacedByNameAndValueAndLeavesTheRestAlone) {
  std::string target = "/k=P?x=%zz&k=P&k=other&%6b=%50&&y=k%3DP&kk=P";
  EXPECT_EQ(replace_query_value(target, "k", "P", "s /&="), 2u);
  EXPECT_EQ(target, "/k=P?x=%zz&k=s%20%2F%26%3D&k=other&%6b=s%20%2F%26%3D&&y=k%3DP&kk=P");
  EXPECT_EQ(query_values(target, "k"), (std::vector<std::string>{"s /&=", "other", "s /&="}));
  EXPECT_EQ(replace_query_value(target, "none", "P", "s"), 0u);
  std::string bare = "/?k";
  EXPECT_EQ(replace_query_value(bare, "k", "", "s"), 0u);
  std::string empty = "/?k=";
  EXPECT_EQ(replace_query_value(empty, "k", "", "s"), 1u);
  EXPECT_EQ(empty, "/?k=s");
}

TEST(HttpBasic, ReadsAndWritesCredentials) {
  EXPECT_EQ(parse_basic("Basic dXNlcjpwYTpzcw=="), (BasicCredentials{"user", "pa:ss"}));
  EXPECT_EQ(parse_basic("bAsIc  Og=="), (BasicCredentials{"", ""}));
  EXPECT_EQ(render_basic({"user", "pa:ss"}), "Basic dXNlcjpwYTpzcw==");
  for (const char* bad : {"", "Basic", "Basic ", "Bearer dXNlcjpw", "Basic dXNlcg==", "Basic dXNlcjpw!", "Basic Og"}) {
    EXPECT_FALSE(parse_basic(bad)) << bad;
  }
}

TEST(HttpReply, SaysWhyAndCloses) {
  EXPECT_EQ(http_reply({504, "the server did not answer"}),
            "HTTP/1.1 504 Gateway Timeout\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
            "Content-Length: 34\r\n\r\ncloche: the server did not answer\n");
  EXPECT_TRUE(http_reply({403, "no"}, HttpReplyBody::kOmitted).ends_with("Content-Length: 11\r\n\r\n"));
}

}  // namespace
}  // namespace cloche::proto
