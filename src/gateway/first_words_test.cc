#include "gateway/first_words.h"

#include <gtest/gtest.h>

#include <string>

namespace cloche::gateway {
namespace {

using namespace std::string_view_literals;

bool passes(std::string_view text, std::size_t piece) {
  FirstWords words;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    if (!words.guest_says(text.substr(at, piece))) return false;
  }
  return true;
}

TEST(FirstWords, ARequestIsFoundBehindAnythingHoweverItIsCut) {
  for (const std::string_view text :
       {"\1GET / HTTP/1.1\r\n"sv, "SSH-GET / HTTP/1.1\r\nHost: b\r\n\r\n"sv, "SSH-2.0-x / http/1.0\n"sv,
        "SSH-2.0-x\r\nGET / HTTP/1.1\r\n"sv, "\2\r\n\1GET /\r\nHost: b\r\n"sv, "\1GET /\nhost \t: b\n"sv,
        "\1HTTP/HTTP/1.1"sv, "\1HHTTP/2"sv}) {
    for (std::size_t piece = 1; piece <= text.size(); ++piece) EXPECT_FALSE(passes(text, piece)) << text << piece;
  }
}

TEST(FirstWords, OtherProtocolsPass) {
  for (const std::string_view text : {"SSH-2.0-OpenSSH_9.9 Debian-1\r\n\0\0\5\x14"sv,
                                      "\0\0\0\x4e\0\3\0\0user\0me\0application_name\0/srv/http/app\0"sv, "\1HTTP\0/1"sv,
                                      "\1http://a/ghost:b\nhostile: 1"sv}) {
    for (std::size_t piece = 1; piece <= text.size(); ++piece) EXPECT_TRUE(passes(text, piece)) << text << piece;
  }
}

TEST(FirstWords, WatchingHasAnEnd) {
  FirstWords words;
  EXPECT_TRUE(words.guest_says("\1"));
  EXPECT_FALSE(words.said_much());
  EXPECT_TRUE(words.guest_says(std::string(std::size_t{1} << 20, 'x')));
  EXPECT_TRUE(words.said_much());
}

TEST(FirstWords, AServerOfHttpShowsItself) {
  using enum FirstWords::Server;
  for (const std::string_view begun : {""sv, "H"sv, "http"sv}) EXPECT_EQ(FirstWords::server_of(begun), kUnknown);
  for (const std::string_view said : {"HTTP/"sv, "HTTP/1.1 400 Bad Request\r\n"sv}) {
    EXPECT_EQ(FirstWords::server_of(said), kHttp);
  }
  for (const std::string_view said : {"S"sv, "Hello"sv, "SSH-2.0-x"sv, "\0"sv}) {
    EXPECT_EQ(FirstWords::server_of(said), kOther);
  }
}

}  // namespace
}  // namespace cloche::gateway
