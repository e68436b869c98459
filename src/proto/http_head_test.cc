#include "proto/http_head.h"

#include <gtest/gtest.h>

#include <string>

namespace cloche::proto {
namespace {

using namespace std::string_literals;

struct Outcome {
  HttpHeadState state{};
  int status = 0;  // of an error
  HttpRequestHead head;
  std::size_t consumed = 0;
  bool operator==(const Outcome&) const = default;
};

Outcome outcome_of(HttpRequestParser& parser, HttpHeadState state) {
  Outcome outcome{state, 0, {}, 0};
  if (state == HttpHeadState::kError) outcome.status = parser.error().status;
  if (state == HttpHeadState::kDone) outcome.head = parser.head(), outcome.consumed = parser.consumed();
  return outcome;
}

Outcome parse(std::string_view bytes) {
  HttpRequestParser parser;
  const HttpHeadState state = parser.parse(bytes);
  return outcome_of(parser, state);
}

std::string request(std::string_view headers, std::string_view line = "POST / HTTP/1.1") {
  return std::string(line) + "\r\n" + std::string(headers) + "\r\n";
}

int status_of(std::string_view bytes) { return parse(bytes).status; }

TEST(HttpRequestParser, ReadsAnOrdinaryRequest) {
  const std::string bytes = "GET /a?b=c HTTP/1.1\r\nHost: Example.org:8080\r\nAccept:  */* \r\nX-Empty:\r\n\r\nnext";
  const Outcome out = parse(bytes);
  ASSERT_EQ(out.state, HttpHeadState::kDone);
  EXPECT_EQ(out.consumed, bytes.size() - 4);
  EXPECT_EQ(out.head.method, "GET");
  EXPECT_EQ(out.head.target, "/a?b=c");
  EXPECT_EQ(out.head.form, HttpTargetForm::kOrigin);
  EXPECT_EQ(out.head.host, (HttpAuthority{"Example.org", HttpHostKind::kName, 8080}));
  EXPECT_EQ(out.head.headers.find("accept")->value, "*/*");
  EXPECT_EQ(out.head.headers.find("x-empty")->value, "");
  EXPECT_EQ(out.head.framing.kind, HttpFramingKind::kNone);
  EXPECT_TRUE(out.head.keep_alive);
  EXPECT_EQ(out.head.authority()->host, "Example.org");
}

TEST(HttpRequestParser, ReadsFraming) {
  EXPECT_EQ(parse(request("Host: a\r\nContent-Length: 12\r\n")).head.framing,
            (HttpFraming{HttpFramingKind::kLength, 12}));
  EXPECT_EQ(parse(request("Host: a\r\ncontent-length:0\r\n")).head.framing, (HttpFraming{HttpFramingKind::kLength, 0}));
  EXPECT_EQ(parse(request("Host: a\r\nTRANSFER-ENCODING: \tchunked\t\r\n")).head.framing,
            (HttpFraming{HttpFramingKind::kChunked, 0}));
  EXPECT_EQ(parse(request("Host: a\r\nContent-Length: 9223372036854775807\r\n")).head.framing.length,
            9223372036854775807u);
}

TEST(HttpRequestParser, ReadsConnectionUpgradeAndExpect) {
  EXPECT_FALSE(parse(request("Host: a\r\nConnection: x, Close\r\n")).head.keep_alive);
  EXPECT_FALSE(parse(request("", "GET / HTTP/1.0")).head.keep_alive);
  EXPECT_TRUE(parse(request("Connection: Keep-Alive\r\n", "GET / HTTP/1.0")).head.keep_alive);
  EXPECT_EQ(parse(request("Host: a\r\nConnection: upgrade\r\nUpgrade: h2c,websocket\r\n")).head.upgrade,
            "h2c, websocket");
  EXPECT_EQ(parse(request("Host: a\r\nUpgrade: websocket\r\n")).head.upgrade, "");
  EXPECT_TRUE(parse(request("Host: a\r\nExpect: 100-Continue\r\n")).head.expect_continue);
  EXPECT_EQ(status_of(request("Host: a\r\nExpect: tea\r\n")), 417);
}

struct Attempt {
  const char* what;
  std::string bytes;
  int status;
};

std::vector<Attempt> attempts() {
  const std::string h = "Host: a\r\n";
  return {
      {"CL.TE", request(h + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n"), 400},
      {"TE.CL", request(h + "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n"), 400},
      {"TE.TE", request(h + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"), 400},
      {"TE twice", request(h + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400},
      {"TE list", request(h + "Transfer-Encoding: chunked, identity\r\n"), 501},
      {"TE gzip", request(h + "Transfer-Encoding: gzip, chunked\r\n"), 501},
      {"TE x", request(h + "Transfer-Encoding: xchunked\r\n"), 501},
      {"TE case", request(h + "Transfer-Encoding: Chunked\r\n"), 501},
      {"TE quotes", request(h + "Transfer-Encoding: \"chunked\"\r\n"), 501},
      {"TE parameter", request(h + "Transfer-Encoding: chunked;q=1\r\n"), 501},
      {"TE comma", request(h + "Transfer-Encoding: chunked,\r\n"), 501},
      {"TE empty", request(h + "Transfer-Encoding:\r\n"), 501},
      {"TE tab of another kind",
       request(h + "Transfer-Encoding: \x0b"
                   "chunked\r\n"),
       400},
      {"TE underscore", request(h + "Transfer_Encoding: chunked\r\n"), 400},
      {"TE folded", request(h + "Transfer-Encoding:\r\n chunked\r\n"), 400},
      {"TE space before colon", request(h + "Transfer-Encoding : chunked\r\n"), 400},
      {"TE tab before colon", request(h + "Transfer-Encoding\t: chunked\r\n"), 400},
      {"TE leading space", request(h + " Transfer-Encoding: chunked\r\n"), 400},
      {"TE in a value", request(h + "X: y\nTransfer-Encoding: chunked\r\n"), 400},
      {"TE after CR", request(h + "X: y\rTransfer-Encoding: chunked\r\n"), 400},
      {"TE in 1.0", request(h + "Transfer-Encoding: chunked\r\n", "POST / HTTP/1.0"), 400},
      {"CL twice", request(h + "Content-Length: 5\r\nContent-Length: 6\r\n"), 400},
      {"CL twice equal", request(h + "Content-Length: 5\r\nContent-Length: 5\r\n"), 400},
      {"CL list", request(h + "Content-Length: 5, 5\r\n"), 400},
      {"CL plus", request(h + "Content-Length: +5\r\n"), 400},
      {"CL minus", request(h + "Content-Length: -5\r\n"), 400},
      {"CL hex", request(h + "Content-Length: 0x5\r\n"), 400},
      {"CL inner blank", request(h + "Content-Length: 5 5\r\n"), 400},
      {"CL fraction", request(h + "Content-Length: 5.0\r\n"), 400},
      {"CL empty", request(h + "Content-Length:\r\n"), 400},
      {"CL underscore", request(h + "Content_Length: 5\r\n"), 400},
      {"CL 2^63", request(h + "Content-Length: 9223372036854775808\r\n"), 413},
      {"CL 2^64+5", request(h + "Content-Length: 18446744073709551621\r\n"), 413},
      {"CL with NUL", request(h + "Content-Length: 5\0\r\n"s), 400},
      {"bare LF ends the line", "GET / HTTP/1.1\nHost: a\r\n\r\n", 400},
      {"bare LF ends a header", request("Host: a\n"), 400},
      {"bare LF ends the head", "GET / HTTP/1.1\r\nHost: a\r\n\n", 400},
      {"CR CR LF", request("Host: a\r\r\n"), 400},
      {"empty line first", "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"folded", request(h + "X: a\r\n b\r\n"), 400},
      {"folded at once", request(" X: a\r\n" + h), 400},
      {"NUL in a value", request(h + "X: a\0b\r\n"s), 400},
      {"NUL in a name", request(h + "X\0: b\r\n"s), 400},
      {"DEL in a value", request(h + "X: \x7f\r\n"), 400},
      {"escape in a value", request(h + "X: \x1b[2J\r\n"), 400},
      {"no colon", request(h + "X\r\n"), 400},
      {"no name", request(h + ": x\r\n"), 400},
      {"name of bytes beyond ASCII", request(h + "X\xc3\xa9: x\r\n"), 400},
      {"no Host", request(""), 400},
      {"two Hosts", request("Host: a\r\nHost: b\r\n"), 400},
      {"two equal Hosts", request("Host: a\r\nhost: a\r\n"), 400},
      {"two Hosts in 1.0", request("Host: a\r\nHost: b\r\n", "GET / HTTP/1.0"), 400},
      {"Host list", request("Host: a, b\r\n"), 400},
      {"Host user", request("Host: user@a\r\n"), 400},
      {"Host user and password", request("Host: b:80@a\r\n"), 400},
      {"Host slash", request("Host: a/b\r\n"), 400},
      {"Host backslash", request("Host: a\\b\r\n"), 400},
      {"Host blank", request("Host: a b\r\n"), 400},
      {"Host empty", request("Host:\r\n"), 400},
      {"Host fragment", request("Host: a#b\r\n"), 400},
      {"Host question", request("Host: a?b\r\n"), 400},
      {"Host percent", request("Host: a%2eb\r\n"), 400},
      {"Host beyond ASCII", request("Host: \xc3\xa4.org\r\n"), 400},
      {"Host port 0", request("Host: a:0\r\n"), 400},
      {"Host port empty", request("Host: a:\r\n"), 400},
      {"Host port large", request("Host: a:65536\r\n"), 400},
      {"Host port zeros", request("Host: a:0080\r\n"), 400},
      {"Host port sign", request("Host: a:+80\r\n"), 400},
      {"Host two ports", request("Host: a:80:81\r\n"), 400},
      {"Host v6 without brackets", request("Host: ::1\r\n"), 400},
      {"Host v6 zone", request("Host: [fe80::1%25lo]\r\n"), 400},
      {"Host v6 wrong", request("Host: [1::2::3]\r\n"), 400},
      {"Host v6 tail", request("Host: [::1]x\r\n"), 400},
      {"Connection names Host", request(h + "Connection: close, host\r\n"), 400},
      {"Connection names CL", request(h + "Connection: Content-Length\r\nContent-Length: 3\r\n"), 400},
      {"Connection no token", request(h + "Connection: a b\r\n"), 400},
      {"no version", request(h, "GET /"), 400},
      {"two blanks", request(h, "GET  / HTTP/1.1"), 400},
      {"blank in target", request(h, "GET /a b HTTP/1.1"), 400},
      {"tab in line", request(h, "GET\t/ HTTP/1.1"), 400},
      {"blank at end", request(h, "GET / HTTP/1.1 "), 400},
      {"blank at begin", request(h, " GET / HTTP/1.1"), 400},
      {"Latin-1 blank in target", request(h, "GET /\xa0HTTP/1.0 HTTP/1.1"), 400},
      {"method no token", request(h, "G(T / HTTP/1.1"), 400},
      {"version 0.9", request(h, "GET / HTTP/0.9"), 505},
      {"version 1.2", request(h, "GET / HTTP/1.2"), 505},
      {"version 2.0", request(h, "GET / HTTP/2.0"), 505},
      {"version 11", request(h, "GET / HTTP/1.10"), 400},
      {"version lower", request(h, "GET / http/1.1"), 400},
      {"fragment", request(h, "GET /a#b HTTP/1.1"), 400},
      {"relative", request(h, "GET a HTTP/1.1"), 400},
      {"https target", request(h, "GET https://a/ HTTP/1.1"), 400},
      {"ftp target", request(h, "GET ftp://a/ HTTP/1.1"), 400},
      {"target user", request(h, "GET http://u:p@a/ HTTP/1.1"), 400},
      {"target backslash host", request(h, "GET http://a\\b/ HTTP/1.1"), 400},
      {"target without host", request(h, "GET http:///x HTTP/1.1"), 400},
      {"GET *", request(h, "GET * HTTP/1.1"), 400},
      {"authority with GET", request(h, "GET a:80 HTTP/1.1"), 400},
      {"CONNECT path", request(h, "CONNECT /x HTTP/1.1"), 400},
      {"CONNECT url", request(h, "CONNECT http://a:80 HTTP/1.1"), 400},
      {"CONNECT without port", request(h, "CONNECT a HTTP/1.1"), 400},
      {"CONNECT with body", request(h + "Content-Length: 3\r\n", "CONNECT a:80 HTTP/1.1"), 400},
  };
}

TEST(HttpRequestParser, RefusesWhatTwoReadersCouldSeeDifferently) {
  for (const Attempt& attempt : attempts()) {
    const Outcome out = parse(attempt.bytes);
    EXPECT_EQ(out.state, HttpHeadState::kError) << attempt.what;
    EXPECT_EQ(out.status, attempt.status) << attempt.what;
  }
}

TEST(HttpRequestParser, ErrorsAreOneHarmlessSentence) {
  for (const Attempt& attempt : attempts()) {
    HttpRequestParser parser;
    parser.parse(attempt.bytes);
    const std::string& text = parser.error().text;
    EXPECT_FALSE(text.empty()) << attempt.what;
    for (const char c : text) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << attempt.what;
  }
}

// Grows the buffer by one byte at a time, as a slow or a sly client would.
Outcome parse_slowly(const std::string& bytes) {
  HttpRequestParser parser;
  HttpHeadState state = HttpHeadState::kMore;
  for (std::size_t i = 1; i <= bytes.size() && state == HttpHeadState::kMore; ++i) {
    state = parser.parse(std::string(bytes, 0, i));
  }
  return outcome_of(parser, state);
}

TEST(HttpRequestParser, SplittingChangesNothing) {
  std::vector<std::string> all;
  for (const Attempt& attempt : attempts()) all.push_back(attempt.bytes);
  all.push_back("GET http://a.b:80/x HTTP/1.1\r\nHost: c\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nrest");
  all.push_back("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  for (const std::string& bytes : all) {
    const Outcome whole = parse(bytes);
    EXPECT_EQ(parse_slowly(bytes), whole) << bytes;
    for (std::size_t i = 0; i <= bytes.size(); ++i) {
      HttpRequestParser parser;
      HttpHeadState state = parser.parse(std::string_view(bytes).substr(0, i));
      if (state == HttpHeadState::kMore) state = parser.parse(bytes);
      ASSERT_EQ(outcome_of(parser, state), whole) << bytes << " at " << i;
    }
  }
}

TEST(HttpRequestParser, TargetsHaveFourForms) {
  const std::string h = "Host: a\r\n";
  EXPECT_EQ(parse(request(h, "OPTIONS * HTTP/1.1")).head.form, HttpTargetForm::kAsterisk);
  const Outcome tunnel = parse(request(h, "CONNECT [::1]:443 HTTP/1.1"));
  EXPECT_EQ(tunnel.head.form, HttpTargetForm::kAuthority);
  EXPECT_EQ(tunnel.head.target_authority, (HttpAuthority{"::1", HttpHostKind::kIpv6, 443}));
  const Outcome absolute = parse(request(h, "GET HTTP://b:81?q HTTP/1.1"));
  EXPECT_EQ(absolute.head.form, HttpTargetForm::kAbsolute);
  EXPECT_EQ(absolute.head.target_authority, (HttpAuthority{"b", HttpHostKind::kName, 81}));
}

TEST(HttpRequestParser, ShowsThatTargetAndHostDisagree) {
  const Outcome other = parse(request("Host: good\r\n", "GET http://evil/ HTTP/1.1"));
  ASSERT_EQ(other.state, HttpHeadState::kDone);
  EXPECT_EQ(other.head.authority()->host, "evil");
  EXPECT_EQ(other.head.host->host, "good");
  EXPECT_FALSE(other.head.authorities_agree(80));
  EXPECT_TRUE(parse(request("Host: A:80\r\n", "GET http://a/ HTTP/1.1")).head.authorities_agree(80));
  EXPECT_FALSE(parse(request("Host: a:81\r\n", "GET http://a/ HTTP/1.1")).head.authorities_agree(80));
  EXPECT_FALSE(parse(request("Host: a\r\n", "CONNECT b:443 HTTP/1.1")).head.authorities_agree(443));
}

TEST(HttpRequestParser, KnowsHttp2) {
  EXPECT_EQ(parse("PRI * HTTP/2.0\r\n").state, HttpHeadState::kPreface);
  EXPECT_EQ(parse("PRI * HTTP/2.0\n").state, HttpHeadState::kError);
  EXPECT_EQ(status_of("PRI * HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
}

TEST(HttpRequestParser, BoundsLineHeadAndCount) {
  const auto line = [](std::size_t size) { return "GET /" + std::string(size - 14, 'x') + " HTTP/1.1"; };
  EXPECT_EQ(parse(request("Host: a\r\n", line(kMaxHttpStartLine))).state, HttpHeadState::kDone);
  EXPECT_EQ(status_of(request("Host: a\r\n", line(kMaxHttpStartLine + 1))), 414);
  EXPECT_EQ(status_of(std::string(kMaxHttpStartLine + 2, 'x')), 414);
  EXPECT_EQ(parse(std::string(kMaxHttpStartLine + 1, 'x')).state, HttpHeadState::kMore);

  const std::string empty = request("Host: a\r\nX: \r\n");
  const auto head = [&](std::size_t size) {
    return request("Host: a\r\nX: " + std::string(size - empty.size(), 'x') + "\r\n");
  };
  EXPECT_EQ(parse(head(kMaxHttpHead)).consumed, kMaxHttpHead);
  EXPECT_EQ(status_of(head(kMaxHttpHead + 1)), 431);

  std::string headers = "Host: a\r\n";
  for (std::size_t i = 1; i < kMaxHttpHeaders; ++i) headers += "X: y\r\n";
  EXPECT_EQ(parse(request(headers)).state, HttpHeadState::kDone);
  EXPECT_EQ(status_of(request(headers + "X: y\r\n")), 431);
}

TEST(HttpRequestParser, RenderedHeadsReadBackAsTheSame) {
  for (const char* bytes : {
           "GET / HTTP/1.1\r\nHost:a\r\n\r\n",
           "post http://a:8/ HTTP/1.1\r\nhost:\ta:8\r\ncontent-length:  007\r\nX: \xff\r\n\r\n",
           "PUT /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: [::1]\r\nExpect: 100-continue\r\n\r\n",
           "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
       }) {
    const Outcome out = parse(bytes);
    ASSERT_EQ(out.state, HttpHeadState::kDone) << bytes;
    EXPECT_TRUE(check_head(out.head));
    const std::string rendered = render(out.head);
    EXPECT_EQ(parse(rendered).head, out.head) << rendered;
    EXPECT_EQ(render(parse(rendered).head), rendered);
  }
}

// A server may answer with what it was sent, a secret among it, and errors go to the guest and into the report.
TEST(HttpResponseParser, X9_ErrorsRepeatNothingOfTheAnswer) {
  for (const char* line :
       {"bad sk-live-value: x", "sk-live-value: a\x01", "Content_Length-sk-live-value\x7f: 1", "sk-live-value"}) {
    HttpResponseParser parser(HttpAsked::kOther);
    ASSERT_EQ(parser.parse("HTTP/1.1 200 OK\r\n" + std::string(line) + "\r\n\r\n"), HttpHeadState::kError) << line;
    EXPECT_EQ(parser.error().text.find("sk-live-value"), std::string::npos) << parser.error().text;
  }
}

}  // namespace
}  // namespace cloche::proto
