// How an exchange goes on and ends where it is not one answer to one request: interim answers, protocols that are
// switched to, sides that close, old clients, and every way to cut the bytes into pieces.
#include <gtest/gtest.h>

#include <string>

#include "proto/http_exchange.h"

namespace cloche::proto {
namespace {

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
constexpr std::string_view kWebsocket =
    "GET / HTTP/1.1\r\nHost: a\r\nSec-WebSocket-Key: k\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
constexpr std::string_view kSwitched =
    "HTTP/1.1 101 Switching Protocols\r\nX: y\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
constexpr std::string_view kExpecting =
    "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n";

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

// An exchange whose first request was allowed and is with the server.
HttpExchange asked(std::string_view request) {
  HttpExchange exchange;
  exchange.from_client(request);
  EXPECT_NE(exchange.waiting(), nullptr);
  if (exchange.waiting() != nullptr) {
    EXPECT_TRUE(exchange.allow(*exchange.waiting()).has_value());
  }
  taken_by_server(exchange);
  return exchange;
}

TEST(HttpExchangeEnd, ContinueReachesWhoWaitsForIt) {
  HttpExchange exchange = asked(kExpecting);
  exchange.from_server("HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(taken_by_client(exchange), "HTTP/1.1 100 Continue\r\n\r\n");
  exchange.from_client("body");
  EXPECT_EQ(taken_by_server(exchange), "body");
  exchange.from_server(kOk);
  EXPECT_EQ(taken_by_client(exchange), kOk);
  EXPECT_EQ(exchange.phase(), HttpPhase::kHead);
}

TEST(HttpExchangeEnd, ContinueIsNotShownToWhoDidNotAsk) {
  HttpExchange exchange = asked(kGet);
  exchange.from_server("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
  EXPECT_EQ(taken_by_client(exchange), "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
  exchange.from_server(kOk);
  EXPECT_EQ(taken_by_client(exchange), kOk);
}

TEST(HttpExchangeEnd, AnAnswerInsteadOfContinueStopsTheBody) {
  HttpExchange exchange = asked(kExpecting);
  exchange.from_server("HTTP/1.1 401 No\r\nContent-Length: 5\r\n\r\nab");
  exchange.from_client("GET ");
  EXPECT_EQ(exchange.to_server(), "");
  exchange.from_server("cde");
  EXPECT_EQ(exchange.to_server(), "");
  EXPECT_EQ(exchange.phase(), HttpPhase::kDone);
  EXPECT_EQ(exchange.to_client(), "HTTP/1.1 401 No\r\nConnection: close\r\nContent-Length: 5\r\n\r\nabcde");
  EXPECT_FALSE(exchange.failure().has_value());
}

TEST(HttpExchangeEnd, AnAnswerBeforeTheWholeRequestIsTheLast) {
  HttpExchange exchange = asked("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 90\r\n\r\nabc");
  exchange.from_server(kOk);
  EXPECT_EQ(exchange.phase(), HttpPhase::kDone);
  EXPECT_EQ(exchange.to_client(), kOk);
}

// The next request came, and the server's end with it: a client that asks on a kept connection asks again elsewhere.
TEST(HttpExchangeEnd, AServerThatEndsBeforeTheNextRequestIsLostWithoutAWord) {
  HttpExchange exchange = asked(std::string(kGet) + std::string(kGet));
  EXPECT_FALSE(exchange.server_left());
  exchange.from_server(kOk);
  EXPECT_EQ(taken_by_client(exchange), kOk);
  ASSERT_NE(exchange.waiting(), nullptr);
  exchange.server_closed();
  EXPECT_TRUE(exchange.server_left());
  exchange.server_lost();
  EXPECT_EQ(exchange.phase(), HttpPhase::kDone);
  EXPECT_EQ(exchange.to_client(), "");
  ASSERT_TRUE(exchange.failure().has_value());
  EXPECT_EQ(exchange.failure()->status, 502);

  HttpExchange first;
  first.from_client(kGet);
  first.server_closed();
  ASSERT_NE(first.waiting(), nullptr);
  first.server_lost();
  EXPECT_TRUE(first.to_client().starts_with("HTTP/1.1 502 "));
}

TEST(HttpExchangeEnd, InterimAnswersAreCounted) {
  HttpExchange exchange = asked(kGet);
  for (int i = 0; i < 1000 && exchange.phase() != HttpPhase::kDone; ++i) {
    exchange.from_server("HTTP/1.1 102 Processing\r\n\r\n");
    if (exchange.phase() != HttpPhase::kDone) taken_by_client(exchange);
  }
  EXPECT_EQ(exchange.phase(), HttpPhase::kDone);
  EXPECT_TRUE(exchange.to_client().starts_with("HTTP/1.1 502 "));
}

TEST(HttpExchangeEnd, AWebsocketIsOpaqueAfter101) {
  HttpExchange exchange;
  // What the client sends before it has the answer is not read as HTTP before it is known what it is.
  exchange.from_client(std::string(kWebsocket) + "frame\n");
  ASSERT_NE(exchange.waiting(), nullptr);
  ASSERT_TRUE(exchange.allow(*exchange.waiting()));
  EXPECT_EQ(taken_by_server(exchange), kWebsocket);
  exchange.from_server(std::string(kSwitched) + "hello");
  EXPECT_EQ(exchange.phase(), HttpPhase::kOpaque);
  EXPECT_EQ(taken_by_client(exchange), std::string(kSwitched) + "hello");
  EXPECT_EQ(taken_by_server(exchange), "frame\n");
  exchange.from_client("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(taken_by_server(exchange), "GET / HTTP/1.1\r\n\r\n");

  exchange.client_closed();
  EXPECT_TRUE(exchange.server_gets_end());
  EXPECT_FALSE(exchange.client_gets_end());
  exchange.from_server("bye");
  exchange.server_closed();
  EXPECT_EQ(exchange.phase(), HttpPhase::kOpaque);
  EXPECT_EQ(taken_by_client(exchange), "bye");
  EXPECT_EQ(exchange.phase(), HttpPhase::kDone);
  EXPECT_FALSE(exchange.failure().has_value());
}

TEST(HttpExchangeEnd, AWebsocketThatIsDeclinedStaysHttp) {
  HttpExchange exchange = asked(std::string(kWebsocket) + std::string(kGet));
  exchange.from_server(kOk);
  EXPECT_EQ(taken_by_client(exchange), kOk);
  ASSERT_NE(exchange.waiting(), nullptr);
  EXPECT_EQ(exchange.waiting()->upgrade, "");
}

TEST(HttpExchangeEnd, OtherProtocolsAreNeitherOfferedNorTaken) {
  for (const std::string_view request : {
           "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
           "HTTP2-Settings: x\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket, h2c\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n",
       }) {
    HttpExchange exchange;
    exchange.from_client(request);
    ASSERT_NE(exchange.waiting(), nullptr);
    ASSERT_TRUE(exchange.allow(*exchange.waiting()));
    EXPECT_EQ(taken_by_server(exchange), kGet);
    exchange.from_server(kSwitched);
    EXPECT_EQ(exchange.phase(), HttpPhase::kDone);
    EXPECT_TRUE(exchange.to_client().starts_with("HTTP/1.1 502 "));
  }
  HttpExchange exchange = asked(kWebsocket);
  exchange.from_server("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
  EXPECT_TRUE(exchange.to_client().starts_with("HTTP/1.1 502 "));
}

TEST(HttpExchangeEnd, Http2IsRefused) {
  HttpExchange exchange;
  exchange.from_client("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  EXPECT_TRUE(exchange.to_client().starts_with("HTTP/1.1 505 "));
}

TEST(HttpExchangeEnd, ClosingEndsAnAnswerThatHasNoOtherEnd) {
  HttpExchange exchange = asked(kGet);
  exchange.from_server("HTTP/1.0 200 OK\r\n\r\nall");
  exchange.server_closed();
  EXPECT_EQ(exchange.to_client(), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall");
  EXPECT_EQ(exchange.phase(), HttpPhase::kDone);
  EXPECT_FALSE(exchange.cut_off());
}

TEST(HttpExchangeEnd, AnAnswerThatIsCutOffIsSeenAsSuch) {
  for (const std::string_view answer : {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
                                        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"}) {
    HttpExchange exchange = asked(kGet);
    exchange.from_server(answer);
    exchange.server_closed();
    EXPECT_EQ(exchange.to_client(), answer);
    EXPECT_TRUE(exchange.cut_off());
  }
}

TEST(HttpExchangeEnd, AServerThatClosesWithoutAnAnswerIsABadGateway) {
  HttpExchange exchange = asked(kGet);
  exchange.server_closed();
  EXPECT_TRUE(exchange.to_client().starts_with("HTTP/1.1 502 "));

  HttpExchange half = asked(kGet);
  half.from_server("HTTP/1.1 200 OK\r\nX: ");
  half.server_closed();
  EXPECT_TRUE(half.to_client().starts_with("HTTP/1.1 502 "));
}

TEST(HttpExchangeEnd, AnIdleConnectionThatServerClosesIsJustClosed) {
  HttpExchange exchange = asked(kGet);
  exchange.from_server(kOk);
  taken_by_client(exchange);
  exchange.from_client(kGet);
  ASSERT_NE(exchange.waiting(), nullptr);
  ASSERT_TRUE(exchange.allow(*exchange.waiting()));
  exchange.server_closed();
  EXPECT_EQ(exchange.to_client(), "");
  EXPECT_EQ(exchange.phase(), HttpPhase::kDone);
}

TEST(HttpExchangeEnd, AClientMayCloseItsHalfAndStillRead) {
  HttpExchange exchange = asked(kGet);
  exchange.client_closed();
  EXPECT_EQ(exchange.phase(), HttpPhase::kRunning);
  exchange.from_server(kOk);
  EXPECT_EQ(taken_by_client(exchange), kOk);
  EXPECT_EQ(exchange.phase(), HttpPhase::kDone);
  EXPECT_FALSE(exchange.failure().has_value());
}

TEST(HttpExchangeEnd, AClientThatClosesTooEarlyIsToldSo) {
  HttpExchange body = asked("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");
  body.client_closed();
  EXPECT_TRUE(body.to_client().starts_with("HTTP/1.1 400 "));
  HttpExchange head;
  head.from_client("GET / HT");
  head.client_closed();
  EXPECT_TRUE(head.to_client().starts_with("HTTP/1.1 400 "));
  HttpExchange idle;
  idle.client_closed();
  EXPECT_EQ(idle.to_client(), "");
  EXPECT_EQ(idle.phase(), HttpPhase::kDone);
}

TEST(HttpExchangeEnd, OldClientsGetNoChunksAndOneAnswer) {
  HttpExchange exchange = asked("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n");
  exchange.from_server("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n");
  EXPECT_EQ(exchange.to_client(), "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok");
  EXPECT_EQ(exchange.phase(), HttpPhase::kDone);
}

TEST(HttpExchangeEnd, WhoSaysCloseIsHeard) {
  HttpExchange client = asked("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  client.from_server(kOk);
  EXPECT_EQ(client.phase(), HttpPhase::kDone);
  HttpExchange server = asked(std::string(kGet) + std::string(kGet));
  server.from_server("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_EQ(server.to_client(), "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_EQ(server.phase(), HttpPhase::kDone);
}

struct Trace {
  std::string to_server, to_client;
  HttpPhase phase{};
  bool operator==(const Trace&) const = default;
};

// The server answers each request when it is whole; everything is given in pieces of `step` bytes.
Trace run(std::string_view client, std::string_view answer, std::size_t step) {
  HttpExchange exchange;
  Trace trace;
  const auto drain = [&] {
    if (exchange.waiting() != nullptr) {
      EXPECT_TRUE(exchange.allow(*exchange.waiting()));
    }
    trace.to_server += taken_by_server(exchange);
    trace.to_client += taken_by_client(exchange);
  };
  std::size_t answered = 0;
  while (exchange.phase() != HttpPhase::kDone) {
    drain();
    if (!client.empty()) {
      const std::string_view piece = client.substr(0, std::min(step, exchange.client_room()));
      client.remove_prefix(piece.size());
      exchange.from_client(piece);
      continue;
    }
    if (answered >= 3 || exchange.phase() != HttpPhase::kRunning) break;
    ++answered;
    for (std::string_view rest = answer; !rest.empty(); drain()) {
      const std::string_view piece = rest.substr(0, step);
      rest.remove_prefix(piece.size());
      exchange.from_server(piece);
    }
  }
  drain();
  trace.phase = exchange.phase();
  return trace;
}

TEST(HttpExchangeEnd, SplittingChangesNothing) {
  const std::string requests = "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello" + std::string(kGet) +
                               "PUT /3 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
  const std::string answer = "HTTP/1.1 103 Hints\r\n\r\n" + std::string(kOk);
  const Trace whole = run(requests, answer, 10'000);
  EXPECT_EQ(whole.to_server, requests);
  EXPECT_EQ(whole.to_client, answer + answer + answer);
  EXPECT_EQ(whole.phase, HttpPhase::kHead);
  for (std::size_t step = 1; step < requests.size(); ++step) EXPECT_EQ(run(requests, answer, step), whole) << step;
}

}  // namespace
}  // namespace cloche::proto
