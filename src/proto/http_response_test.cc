#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "proto/http_head.h"

namespace cloche::proto {
namespace {

using namespace std::string_literals;

std::optional<HttpResponseHead> parse(std::string_view bytes, HttpAsked asked = HttpAsked::kOther) {
  HttpResponseParser parser(asked);
  if (parser.parse(bytes) != HttpHeadState::kDone) return std::nullopt;
  return parser.head();
}

HttpFraming framing_of(std::string_view bytes, HttpAsked asked = HttpAsked::kOther) {
  const auto head = parse(bytes, asked);
  EXPECT_TRUE(head.has_value()) << bytes;
  return head ? head->framing : HttpFraming{};
}

constexpr HttpFraming kNothing{HttpFramingKind::kNone, 0};
constexpr HttpFraming kToTheEnd{HttpFramingKind::kUntilClose, 0};
constexpr HttpFraming kInChunks{HttpFramingKind::kChunked, 0};

TEST(HttpResponseParser, TellsHowTheBodyEnds) {
  EXPECT_EQ(framing_of("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"), (HttpFraming{HttpFramingKind::kLength, 3}));
  EXPECT_EQ(framing_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"), kInChunks);
  EXPECT_EQ(framing_of("HTTP/1.1 200 OK\r\n\r\n"), kToTheEnd);
  EXPECT_EQ(framing_of("HTTP/1.1 100 Continue\r\n\r\n"), kNothing);
  EXPECT_EQ(framing_of("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"), kNothing);
  EXPECT_EQ(framing_of("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"), kNothing);
  EXPECT_EQ(framing_of("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", HttpAsked::kHead), kNothing);
  EXPECT_EQ(framing_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", HttpAsked::kHead), kNothing);
}

TEST(HttpResponseParser, KeepsTheLengthOfWhatIsNotSent) {
  EXPECT_EQ(parse("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", HttpAsked::kHead)->length_elsewhere, 9u);
  EXPECT_EQ(parse("HTTP/1.1 304 x\r\nContent-Length: 9\r\n\r\n")->length_elsewhere, 9u);
  EXPECT_EQ(parse("HTTP/1.1 204 x\r\nContent-Length: 9\r\n\r\n")->length_elsewhere, std::nullopt);
}

TEST(HttpResponseParser, ToleratesWhatServersSend) {
  EXPECT_EQ(parse("HTTP/1.1 200\r\n\r\n")->reason, "");
  EXPECT_EQ(parse("HTTP/1.1 200 \r\n\r\n")->reason, "");
  EXPECT_EQ(parse("HTTP/1.1 999 Request denied\r\n\r\n")->status, 999);
  EXPECT_EQ(parse("HTTP/1.0 200 \xc3\xa9t\xc3\xa9\r\nX: \xff\r\n\r\n")->reason, "\xc3\xa9t\xc3\xa9");
}

TEST(HttpResponseParser, TellsWhetherTheConnectionLasts) {
  EXPECT_TRUE(parse("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")->keep_alive);
  EXPECT_FALSE(parse("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")->keep_alive);
  EXPECT_FALSE(parse("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n")->keep_alive);
  EXPECT_FALSE(parse("HTTP/1.1 200 OK\r\n\r\n")->keep_alive);
}

std::vector<std::string> refused() {
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  return {
      ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
      ok + "Content-Length: 3\r\nContent-Length: 3\r\n\r\n",
      ok + "Content-Length: +3\r\n\r\n",
      ok + "Content-Length: 18446744073709551619\r\n\r\n",
      ok + "Transfer-Encoding: gzip, chunked\r\n\r\n",
      ok + "Transfer-Encoding : chunked\r\n\r\n",
      ok + "Transfer-Encoding:\r\n chunked\r\n\r\n",
      ok + "X: y\nContent-Length: 3\r\n\r\n",
      ok + "X: a\0b\r\n\r\n"s,
      "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.1 200 OK\nContent-Length: 3\n\n",
      "HTTP/2.0 200 OK\r\n\r\n",
      "HTTP/1.1 20 OK\r\n\r\n",
      "HTTP/1.1 2000 OK\r\n\r\n",
      "HTTP/1.1 020 OK\r\n\r\n",
      "HTTP/1.1  200 OK\r\n\r\n",
      "HTTP/1.1 200OK\r\n\r\n",
      "HTTP/1.1 200 O\x1bK\r\n\r\n",
      "HTTP/1.1\r\n\r\n",
      "ICY 200 OK\r\n\r\n",
      "\r\nHTTP/1.1 200 OK\r\n\r\n",
      std::string(kMaxHttpStartLine + 2, 'H'),
  };
}

TEST(HttpResponseParser, RefusesWhatTwoReadersCouldSeeDifferently) {
  for (const std::string& bytes : refused()) {
    HttpResponseParser parser(HttpAsked::kOther);
    EXPECT_EQ(parser.parse(bytes), HttpHeadState::kError) << bytes;
    EXPECT_EQ(parser.error().status, 502) << bytes;
  }
}

TEST(HttpResponseParser, SplittingChangesNothing) {
  std::vector<std::string> all = refused();
  all.pop_back();
  all.push_back("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nframes");
  all.push_back("HTTP/1.1 200 OK\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 5\r\n\r\nhello");
  for (const std::string& bytes : all) {
    HttpResponseParser whole(HttpAsked::kOther);
    const HttpHeadState state = whole.parse(bytes);
    HttpResponseParser slow(HttpAsked::kOther);
    HttpHeadState so_far = HttpHeadState::kMore;
    for (std::size_t i = 0; i <= bytes.size() && so_far == HttpHeadState::kMore; ++i) {
      so_far = slow.parse(std::string(bytes, 0, i));
    }
    EXPECT_EQ(so_far, state) << bytes;
    EXPECT_EQ(slow.error(), whole.error()) << bytes;
    EXPECT_EQ(slow.consumed(), whole.consumed()) << bytes;
    EXPECT_EQ(slow.head(), whole.head()) << bytes;
  }
}

TEST(HttpResponseParser, RenderedHeadsReadBackAsTheSame) {
  for (const char* bytes : {
           "HTTP/1.1 200\r\nX:y\r\ncontent-length:03\r\n\r\n",
           "HTTP/1.0 404  Not  here \r\n\r\n",
           "HTTP/1.1 304 \r\nContent-Length: 3\r\nEtag: \"x\"\r\n\r\n",
           "HTTP/1.1 200 OK\r\ntransfer-encoding: CHUNKED\r\nConnection: close\r\n\r\n",
       }) {
    const auto head = parse(bytes);
    ASSERT_TRUE(head.has_value()) << bytes;
    EXPECT_TRUE(check_head(*head));
    EXPECT_EQ(parse(render(*head)), head) << render(*head);
  }
}

}  // namespace
}  // namespace cloche::proto
