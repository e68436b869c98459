#include "proto/http_exchange.h"

#include <gtest/gtest.h>

#include <string>

namespace cloche::proto {
namespace {

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

std::string taken_by_client(HttpExchange& exchange) {
  std::string bytes(exchange.to_client());
  exchange.client_took(bytes.size());
  return bytes;
}

std::string taken_by_server(HttpExchange& exchange) {
  std::string bytes(exchange.to_server());
  exchange.server_took(bytes.size());
  return bytes;
}

// Allows the request that waits as it is, and returns what the server gets.
std::string allow(HttpExchange& exchange) {
  EXPECT_NE(exchange.waiting(), nullptr);
  if (exchange.waiting() == nullptr) return {};
  const Status status = exchange.allow(*exchange.waiting());
  EXPECT_TRUE(status.has_value()) << status.error().text();
  return taken_by_server(exchange);
}

std::string passed_on(std::string_view request) {
  HttpExchange exchange;
  exchange.from_client(request);
  return allow(exchange);
}

TEST(HttpExchange, NothingGoesOnBeforeTheVerdict) {
  HttpExchange exchange;
  exchange.from_client("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_EQ(exchange.phase(), HttpPhase::kDeciding);
  EXPECT_EQ(exchange.to_server(), "");
  EXPECT_EQ(allow(exchange), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
  exchange.from_server(kOk);
  EXPECT_EQ(taken_by_client(exchange), kOk);
  EXPECT_EQ(exchange.phase(), HttpPhase::kHead);
}

TEST(HttpExchange, X9_AHostIsToldInItsPlainSpelling) {
  for (const std::string_view name : {"API.Example.org", "api.example.org.", "aPI.example.ORG."}) {
    for (const std::string_view port : {"", ":8080"}) {
      const std::string place = std::string(name) + std::string(port);
      const std::string wanted = "GET /x HTTP/1.1\r\nHost: api.example.org" + std::string(port) + "\r\n\r\n";
      EXPECT_EQ(passed_on("GET /x HTTP/1.1\r\nHost: " + place + "\r\n\r\n"), wanted);
      EXPECT_EQ(passed_on("GET http://" + place + "/x HTTP/1.1\r\nHost: " + place + "\r\n\r\n"), wanted);
    }
  }
  EXPECT_EQ(passed_on("GET / HTTP/1.1\r\nHost: [2001:DB8::1]\r\n\r\n"),
            "GET / HTTP/1.1\r\nHost: [2001:db8::1]\r\n\r\n");
}

TEST(HttpExchange, ARefusalIsReadableAndEndsIt) {
  HttpExchange exchange;
  exchange.from_client("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 40\r\n\r\nGET /x HTTP/1.1\r\nHost: b\r\n\r\n");
  exchange.refuse({403, "the policy does not allow a"});
  EXPECT_EQ(exchange.phase(), HttpPhase::kDone);
  EXPECT_FALSE(exchange.want_client_bytes());
  EXPECT_EQ(exchange.to_client(),
            "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
            "Content-Length: 36\r\n\r\ncloche: the policy does not allow a\n");
  EXPECT_EQ(exchange.to_server(), "");
}

TEST(HttpExchange, TheAnswerToHeadHasNoBodyWhoeverGivesIt) {
  HttpExchange refused;
  refused.from_client("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  refused.refuse({403, "no"});
  EXPECT_TRUE(refused.to_client().ends_with("Content-Length: 11\r\n\r\n"));

  HttpExchange exchange;
  exchange.from_client("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  allow(exchange);
  exchange.from_server("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n");
  EXPECT_EQ(taken_by_client(exchange), "HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n");
  EXPECT_EQ(exchange.phase(), HttpPhase::kHead);
}

TEST(HttpExchange, PipelinedRequestsWaitForTheAnswerBefore) {
  HttpExchange exchange;
  exchange.from_client(std::string(kGet) + "GET /second HTTP/1.1\r\nHost: evil\r\n\r\n");
  EXPECT_EQ(exchange.waiting()->target, "/");
  EXPECT_EQ(allow(exchange), kGet);
  EXPECT_EQ(exchange.waiting(), nullptr);
  exchange.from_server(kOk);
  // Nor before the client has taken it.
  EXPECT_EQ(exchange.waiting(), nullptr);
  EXPECT_EQ(taken_by_client(exchange), kOk);
  ASSERT_NE(exchange.waiting(), nullptr);
  EXPECT_EQ(exchange.waiting()->target, "/second");
  EXPECT_EQ(exchange.waiting()->authority()->host, "evil");
  EXPECT_EQ(exchange.to_server(), "");
}

TEST(HttpExchange, KeepAliveToASecondHostIsJudgedAgain) {
  HttpExchange exchange;
  exchange.from_client(kGet);
  allow(exchange);
  exchange.from_server(kOk);
  taken_by_client(exchange);
  exchange.from_client("GET http://evil/ HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_NE(exchange.waiting(), nullptr);
  EXPECT_FALSE(exchange.waiting()->authorities_agree(80));
  exchange.refuse({403, "no"});
  EXPECT_EQ(exchange.to_server(), "");
  EXPECT_EQ(exchange.phase(), HttpPhase::kDone);
}

TEST(HttpExchange, ASecondHostMayHaveAnotherServer) {
  HttpExchange exchange;
  exchange.from_client(kGet);
  allow(exchange);
  exchange.from_server(kOk);
  taken_by_client(exchange);
  exchange.from_client("GET http://b/ HTTP/1.1\r\nHost: b\r\n\r\n");
  exchange.server_closed();
  ASSERT_NE(exchange.waiting(), nullptr);
  EXPECT_FALSE(exchange.allow(*exchange.waiting()));
  EXPECT_EQ(exchange.to_server(), "");
  exchange.new_server();
  EXPECT_EQ(allow(exchange), "GET / HTTP/1.1\r\nHost: b\r\n\r\n");
}

TEST(HttpExchange, ServersGetTheOriginFormAndNothingMeantForOneHop) {
  EXPECT_EQ(passed_on("GET http://a:8/x?y HTTP/1.1\r\nHost: b\r\n\r\n"), "GET /x?y HTTP/1.1\r\nHost: a:8\r\n\r\n");
  EXPECT_EQ(passed_on("GET http://a HTTP/1.0\r\n\r\n"), "GET / HTTP/1.0\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(passed_on("OPTIONS http://a HTTP/1.1\r\nHost: a\r\n\r\n"), "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(passed_on("GET / HTTP/1.1\r\nhost:a\r\nConnection: close, X-One, TE\r\nx-one: 1\r\nX-Two:2\r\n"
                      "TE: trailers\r\nTrailer: x\r\nKeep-Alive: 5\r\nProxy-Connection: keep-alive\r\n"
                      "Proxy-Authorization: Basic eDp5\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n"),
            "GET / HTTP/1.1\r\nhost: a\r\nX-Two: 2\r\nConnection: close\r\n\r\n");
}

TEST(HttpExchange, ChunksAreWrittenAnew) {
  HttpExchange exchange;
  exchange.from_client("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  allow(exchange);
  exchange.from_client("00003;ext=1\r\nabc\r\n2\r\nde\r\n0\r\nTransfer-Encoding: x\r\n\r\nGET /next");
  EXPECT_EQ(taken_by_server(exchange), "5\r\nabcde\r\n0\r\n\r\n");
  exchange.from_server("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n");
  EXPECT_EQ(taken_by_client(exchange), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n");
  EXPECT_EQ(exchange.phase(), HttpPhase::kHead);
}

TEST(HttpExchange, ABadChunkEndsItAndNothingMoreGoesOn) {
  HttpExchange exchange;
  exchange.from_client("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  allow(exchange);
  exchange.from_client("3\r\nabc\r\n0x5\r\nGET /");
  EXPECT_EQ(exchange.phase(), HttpPhase::kDone);
  EXPECT_EQ(exchange.to_server(), "");
  EXPECT_TRUE(exchange.to_client().starts_with("HTTP/1.1 400 "));
  EXPECT_EQ(exchange.failure()->status, 400);
}

TEST(HttpExchange, ABadHeadIsAnsweredAlsoLaterOnTheConnection) {
  HttpExchange exchange;
  exchange.from_client(std::string(kGet) + "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
  allow(exchange);
  exchange.from_server(kOk);
  taken_by_client(exchange);
  EXPECT_EQ(exchange.phase(), HttpPhase::kDone);
  EXPECT_TRUE(exchange.to_client().starts_with("HTTP/1.1 400 "));
}

TEST(HttpExchange, AnAnswerWithoutAQuestionIsNotKept) {
  for (const std::string_view more : {"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison", "x", "\r\n"}) {
    HttpExchange exchange;
    exchange.from_client(kGet);
    allow(exchange);
    exchange.from_server(std::string(kOk) + std::string(more));
    EXPECT_EQ(exchange.to_client(), kOk);
    EXPECT_EQ(exchange.phase(), HttpPhase::kDone);
    EXPECT_TRUE(exchange.failure().has_value());
    EXPECT_FALSE(exchange.cut_off());
  }
  HttpExchange early;
  early.from_client(kGet);
  early.from_server(kOk);
  ASSERT_NE(early.waiting(), nullptr);
  EXPECT_FALSE(early.allow(*early.waiting()));
  EXPECT_EQ(early.to_client(), "");
}

TEST(HttpExchange, ConnectIsNoExchange) {
  HttpExchange exchange;
  exchange.from_client("CONNECT b:443 HTTP/1.1\r\nHost: b:443\r\n\r\nhello");
  ASSERT_NE(exchange.waiting(), nullptr);
  EXPECT_EQ(exchange.waiting()->form, HttpTargetForm::kAuthority);
  EXPECT_FALSE(exchange.allow(*exchange.waiting()));
  EXPECT_EQ(exchange.to_server(), "");
  EXPECT_EQ(exchange.phase(), HttpPhase::kDeciding);
  EXPECT_EQ(exchange.release_client_bytes(), "hello");
  EXPECT_EQ(exchange.phase(), HttpPhase::kDone);
}

TEST(HttpExchange, AChangedHeadKeepsItsFramingAndCannotBreakOut) {
  HttpExchange exchange;
  exchange.from_client("POST /?k=p HTTP/1.1\r\nHost: a\r\nX-Key: p\r\nContent-Length: 1\r\n\r\nx");
  ASSERT_NE(exchange.waiting(), nullptr);
  HttpRequestHead head = *exchange.waiting();
  head.headers.set("X-Key", "s\r\nHost: evil");
  EXPECT_FALSE(exchange.allow(head));
  head.headers.set("X-Key", "s");
  head.headers.add("Transfer-Encoding", "chunked");
  EXPECT_FALSE(exchange.allow(head));
  head.headers.remove("Transfer-Encoding");
  head.target = "/ HTTP/1.1";
  EXPECT_FALSE(exchange.allow(head));
  EXPECT_EQ(exchange.to_server(), "");
  head.target = "/?k=s";
  head.framing = {HttpFramingKind::kLength, 100};
  ASSERT_TRUE(exchange.allow(head));
  EXPECT_EQ(exchange.to_server(), "POST /?k=s HTTP/1.1\r\nHost: a\r\nX-Key: s\r\nContent-Length: 1\r\n\r\nx");
}

TEST(HttpExchange, WhatWaitsIsBounded) {
  HttpExchange exchange;
  exchange.from_client("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  ASSERT_TRUE(exchange.allow(*exchange.waiting()));
  std::size_t sent = 0;
  while (exchange.want_client_bytes() && sent < 1'000'000) {
    exchange.from_client(std::string_view("1\r\nx\r\n").substr(sent % 6, 1));
    ++sent;
  }
  EXPECT_LE(sent, 2 * kMaxHttpWaiting);
  EXPECT_LE(exchange.to_server().size(), kMaxHttpWaiting + 100);
  taken_by_server(exchange);
  EXPECT_TRUE(exchange.want_client_bytes());

  std::size_t received = 0;
  exchange.from_server("HTTP/1.1 200 OK\r\n\r\n");
  while (exchange.want_server_bytes() && received < 1'000'000) {
    const std::string bytes(std::min<std::size_t>(exchange.server_room(), 1000), 'x');
    exchange.from_server(bytes);
    received += bytes.size();
  }
  EXPECT_LE(received, 2 * kMaxHttpWaiting);
  EXPECT_LE(exchange.to_client().size(), kMaxHttpWaiting + 100);
}

TEST(HttpExchange, MoreThanThereIsRoomForEndsIt) {
  HttpExchange exchange;
  exchange.from_client(kGet);
  exchange.from_client(std::string(exchange.client_room(), 'x'));
  EXPECT_FALSE(exchange.want_client_bytes());
  EXPECT_EQ(exchange.phase(), HttpPhase::kDeciding);
  exchange.from_client("x");
  EXPECT_EQ(exchange.phase(), HttpPhase::kDone);
}

class Watcher : public HttpWatcher {
 public:
  std::optional<HttpError> request_body(std::string& payload, HttpPart part) override {
    log += "q(" + payload + (part == HttpPart::kLast ? ")." : ")");
    if (payload.contains("stop")) return HttpError{403, "a placeholder in the body"};
    return std::nullopt;
  }
  std::optional<HttpError> response_head(HttpResponseHead& head) override {
    head.headers.set("X-Seen", "yes");
    return std::nullopt;
  }
  // Holds everything back to the end, turned into capital letters.
  std::optional<HttpError> response_body(std::string& payload, HttpPart part) override {
    held += payload;
    payload.clear();
    if (part == HttpPart::kLast) {
      for (char& c : held) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      payload = held + extra;
    }
    return std::nullopt;
  }
  std::string log, held, extra;
};

TEST(HttpExchange, AWatcherSeesAndChangesWhatPasses) {
  Watcher watcher;
  HttpExchange exchange(&watcher);
  exchange.from_client("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab");
  allow(exchange);
  exchange.from_client("cd");
  EXPECT_EQ(watcher.log, "q(ab)q(cd).");
  taken_by_server(exchange);
  exchange.from_server("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nw");
  EXPECT_EQ(taken_by_client(exchange), "HTTP/1.1 200 OK\r\nX-Seen: yes\r\nContent-Length: 4\r\n\r\n");
  exchange.from_server("xyz");
  EXPECT_EQ(taken_by_client(exchange), "WXYZ");
  EXPECT_EQ(exchange.phase(), HttpPhase::kHead);
}

TEST(HttpExchange, AWatcherCanStopARequestOnItsWay) {
  Watcher watcher;
  HttpExchange exchange(&watcher);
  exchange.from_client("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n");
  allow(exchange);
  exchange.from_client("stop");
  EXPECT_EQ(exchange.to_server(), "");
  EXPECT_TRUE(exchange.to_client().starts_with("HTTP/1.1 403 "));
  EXPECT_EQ(exchange.phase(), HttpPhase::kDone);
}

TEST(HttpExchange, AWatcherCannotChangeTheSizeOfABodyWithALength) {
  Watcher watcher;
  watcher.extra = "HTTP/1.1 200 OK\r\n\r\n";
  HttpExchange exchange(&watcher);
  exchange.from_client(kGet);
  allow(exchange);
  exchange.from_server(kOk);
  EXPECT_EQ(exchange.phase(), HttpPhase::kDone);
  EXPECT_TRUE(exchange.cut_off());
  EXPECT_EQ(exchange.to_client(), "HTTP/1.1 200 OK\r\nX-Seen: yes\r\nContent-Length: 2\r\n\r\n");
}

}  // namespace
}  // namespace cloche::proto
