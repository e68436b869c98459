#include "proto/rpc_http.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/rpc_broker.h"

namespace cloche::proto {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using State = RpcBroker::State;

const RpcRule kRule{.methods = {"flow.read", "log.*"}, .context = {{"tenant", "a"}}};

const std::string kCall = R"({"jsonrpc":"2.0","method":"flow.read","id":1})";
const std::string kPassed = R"({"jsonrpc":"2.0","method":"flow.read","params":{"_context":{"tenant":"a"}},"id":1})";
const std::string kNo = R"({"jsonrpc":"2.0","method":"no","id":2})";
const std::string kNote = R"({"jsonrpc":"2.0","method":"log.x"})";
const std::string kDenied =
    error_answer({kMethodNotFound, "the policy of this run does not allow the method \"no\""}, "2");

std::string post(std::string_view body, std::string_view headers = "") {
  return fmt::format("POST /rpc HTTP/1.1\r\nHost: svc\r\n{}Content-Length: {}\r\n\r\n{}", headers, body.size(), body);
}

std::string request(std::string_view body) {
  return fmt::format(
      "POST /rpc HTTP/1.1\r\nHost: svc\r\nContent-Type: application/json\r\n"
      "X-Cloche-Context: {{\"tenant\":\"a\"}}\r\nContent-Length: {}\r\n\r\n{}",
      body.size(), body);
}

std::string ok(std::string_view body, std::string_view headers = "Content-Type: application/json\r\n") {
  return fmt::format("HTTP/1.1 200 OK\r\n{}Content-Length: {}\r\n\r\n{}", headers, body.size(), body);
}

struct Seen {
  std::string for_service, for_client;
  std::vector<RpcCall> records;
  State state = State::kOpen;
  bool operator==(const Seen&) const = default;
};

Seen feed(const std::vector<std::string_view>& pieces, const RpcRule& rule = kRule) {
  RpcBroker broker(rule);
  Seen seen;
  for (const std::string_view piece : pieces) {
    broker.client_bytes(piece);
    seen.for_service += broker.take_for_service();
    seen.for_client += broker.take_for_client();
    for (RpcCall& record : broker.take_records()) seen.records.push_back(std::move(record));
  }
  seen.state = broker.state();
  return seen;
}

TEST(RpcHttp, PassesAnAllowedCallWithTheContextInBothPlaces) {
  RpcBroker broker(kRule);
  broker.client_bytes(post(kCall));
  EXPECT_EQ(broker.take_for_service(), request(kPassed));
  EXPECT_EQ(broker.take_for_client(), "");
  const std::string answer = R"({"jsonrpc":"2.0", "result":1,"id":1})";
  broker.service_bytes(ok(answer));
  EXPECT_EQ(broker.take_for_client(), ok(answer));
  EXPECT_EQ(broker.state(), State::kOpen);
  EXPECT_EQ(broker.framing(), RpcFraming::kHttp);
}

TEST(RpcHttp, AnswersDeniedCallsAndNotificationsItself) {
  const Seen seen = feed({post(kNo) + post(R"({"jsonrpc":"2.0","method":"no"})") + post("{") + post("")});
  EXPECT_EQ(seen.for_service, "");
  EXPECT_THAT(seen.for_client, StartsWith(ok(kDenied) + "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK"));
  EXPECT_THAT(seen.for_client, HasSubstr("-32700"));
  EXPECT_EQ(seen.records.size(), 4u);
  EXPECT_EQ(seen.state, State::kOpen);
}

TEST(RpcHttp, PassesOneRequestAtATimeInOrder) {
  RpcBroker broker(kRule);
  broker.client_bytes(post(kCall) + post(kNo) + post(kCall));
  EXPECT_EQ(broker.take_for_service(), request(kPassed));
  EXPECT_EQ(broker.take_for_client(), "");
  broker.service_bytes(ok("{}"));
  EXPECT_EQ(broker.take_for_client(), ok("{}") + ok(kDenied));
  EXPECT_EQ(broker.take_for_service(), request(kPassed));
}

TEST(RpcHttp, IsTheSameWhereverTheStreamIsCut) {
  const std::string stream =
      post(kNo) + post("[]") +
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n2\r\n1}\r\n0\r\n\r\n" +
      post(kCall);
  const Seen whole = feed({stream});
  EXPECT_EQ(whole.records.size(), 4u);
  EXPECT_EQ(whole.for_service, request(kPassed));
  std::vector<std::string_view> bytes;
  for (std::size_t at = 0; at < stream.size(); ++at) {
    const std::string_view view = stream;
    EXPECT_EQ(feed({view.substr(0, at), view.substr(at)}), whole) << "cut at " << at;
    bytes.push_back(view.substr(at, 1));
  }
  EXPECT_EQ(feed(bytes), whole);
}

TEST(RpcHttp, LetsNoGuestSetTheContextsHeader) {
  for (const std::string name : {"X-Cloche-Context", "x-cloche-context", "X-CLOCHE-CONTEXT", "X_Cloche_Context"}) {
    for (const RpcRule& rule : {kRule, RpcRule{.methods = {"flow.read"}}}) {
      const Seen seen = feed({post(kCall, name + ": {\"tenant\":\"b\"}\r\n")}, rule);
      EXPECT_EQ(seen.for_service, "");
      EXPECT_THAT(seen.for_client, StartsWith("HTTP/1.1 403 "));
      ASSERT_EQ(seen.records.size(), 1u);
      EXPECT_EQ(seen.records[0].verdict, RpcVerdict::kDenied);
      EXPECT_EQ(seen.state, State::kEnded);
    }
  }
  const Seen trailer =
      feed({"POST /rpc HTTP/1.1\r\nHost: svc\r\nTransfer-Encoding: chunked\r\nTrailer: X-Cloche-Context\r\n\r\n" +
            fmt::format("{:x}\r\n{}\r\n0\r\nX-Cloche-Context: b\r\n\r\n", kCall.size(), kCall)});
  EXPECT_EQ(trailer.for_service, request(kPassed));
}

TEST(RpcHttp, PassesFewHeaders) {
  const Seen seen =
      feed({post(kCall,
                 "X-HTTP-Method-Override: GET\r\nX-Forwarded-For: 1\r\nAccept: a/b\r\nCookie: c\r\n"
                 "Authorization: Bearer t\r\nUser-Agent: u\r\nConnection: Accept\r\nAccept-Encoding: gzip\r\n"
                 "Content-Type: application/json; charset=UTF-8\r\n")});
  EXPECT_THAT(seen.for_service, HasSubstr("\r\nAuthorization: Bearer t\r\nUser-Agent: u\r\n"));
  for (const char* name : {"Override", "Forwarded", "Cookie", "Encoding", "charset", "Connection"}) {
    EXPECT_THAT(seen.for_service, Not(HasSubstr(name)));
  }
}

TEST(RpcHttp, RefusesWhatIsNoPostOfJson) {
  const std::string tail = "Host: svc\r\nContent-Length: 2\r\n\r\n{}";
  for (const auto& [stream, status] : std::vector<std::pair<std::string, int>>{
           {"GET /rpc HTTP/1.1\r\nHost: svc\r\n\r\n", 405},
           {"OPTIONS * HTTP/1.1\r\nHost: svc\r\n\r\n", 405},
           {"CONNECT svc:80 HTTP/1.1\r\nHost: svc:80\r\n\r\n", 405},
           {"PUT /rpc HTTP/1.1\r\n" + tail, 405},
           {"POST http://svc/rpc HTTP/1.1\r\n" + tail, 400},
           {"POST /rpc?method=no HTTP/1.1\r\n" + tail, 400},
           {"POST /rpc/../admin HTTP/1.1\r\n" + tail, 400},
           {"POST /./rpc HTTP/1.1\r\n" + tail, 400},
           {"POST /rpc/.. HTTP/1.1\r\n" + tail, 400},
           {"POST /rpc/%2e%2E/admin HTTP/1.1\r\n" + tail, 400},
           {"POST /rpc/.%2e HTTP/1.1\r\n" + tail, 400},
           {"POST /rpc%2Fx HTTP/1.1\r\n" + tail, 400},
           {"POST /rpc%5c.. HTTP/1.1\r\n" + tail, 400},
           {"POST /rpc HTTP/1.1\r\nContent-Type: text/plain\r\n" + tail, 415},
           {"POST /rpc HTTP/1.1\r\nContent-Type: application/json; charset=utf-7\r\n" + tail, 415},
           {"POST /rpc HTTP/1.1\r\nContent-Type: application/json\r\nContent-Type: application/json\r\n" + tail, 400},
           {"POST /rpc HTTP/1.1\r\nContent-Encoding: gzip\r\n" + tail, 415},
           {"POST /rpc HTTP/1.1\r\nContent-Length: 2\r\n" + tail, 400},
           {"POST /rpc HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + tail, 400},
           {"POST /rpc HTTP/1.1\nHost: svc\n\n", 400},
           {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505}}) {
    const Seen seen = feed({stream});
    EXPECT_EQ(seen.for_service, "") << stream;
    EXPECT_THAT(seen.for_client, StartsWith(fmt::format("HTTP/1.1 {} ", status))) << stream;
    EXPECT_EQ(seen.state, State::kEnded) << stream;
    EXPECT_EQ(seen.records.size(), 1u) << stream;
  }
}

TEST(RpcHttp, PassesDotsThatArePartOfAName) {
  for (const std::string path : {"/", "/v1.2/rpc", "/..rpc", "/rpc...", "/.well-known/rpc", "/a%20b"}) {
    const std::string stream = fmt::format("POST {} HTTP/1.1\r\nHost: svc\r\nContent-Length: {}\r\n\r\n{}", path,
                                           kCall.size(), kCall);
    EXPECT_THAT(feed({stream}).for_service, StartsWith("POST " + path + " HTTP/1.1\r\n"));
  }
}

TEST(RpcHttp, BoundsAMessage) {
  RpcRule rule = kRule;
  rule.max_message = 100;
  const std::string large(101, ' ');
  for (const std::string& stream :
       {post(large), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" + large}) {
    const Seen seen = feed({stream}, rule);
    EXPECT_THAT(seen.for_client, StartsWith("HTTP/1.1 413 "));
    EXPECT_EQ(seen.state, State::kEnded);
  }
}

TEST(RpcHttp, MergesTheAnswersOfABatch) {
  const std::string one = R"({"jsonrpc":"2.0","result":1,"id":1})";
  for (const std::string& words : {"[" + one + "]", one}) {
    RpcBroker broker(kRule);
    broker.client_bytes(post("[" + kCall + "," + kNo + "]"));
    EXPECT_EQ(broker.take_for_service(), request("[" + kPassed + "]"));
    broker.service_bytes(ok(words));
    EXPECT_EQ(broker.take_for_client(), ok("[" + one + "," + kDenied + "]"));
  }
}

TEST(RpcHttp, AnswersForABatchTheServiceHasNothingToSayTo) {
  RpcBroker broker(kRule);
  broker.client_bytes(post("[" + kNote + "," + kNo + "]"));
  EXPECT_NE(broker.take_for_service(), "");
  EXPECT_EQ(broker.take_for_client(), "");
  broker.service_bytes("HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(broker.take_for_client(), ok("[" + kDenied + "]"));
}

TEST(RpcHttp, PassesAnAnswerOfHttpsOwn) {
  RpcBroker broker(kRule);
  broker.client_bytes(post(kCall));
  broker.service_bytes(
      "HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\nRetry-After: 1\r\n\r\n4\r\nbusy\r\n0\r\n\r\n");
  EXPECT_EQ(broker.take_for_client(), "HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\nbusy");
}

TEST(RpcHttp, EndsWithTheService) {
  RpcBroker until_close(kRule);
  until_close.client_bytes(post(kCall) + post(kCall));
  EXPECT_EQ(until_close.take_for_service(), request(kPassed));
  until_close.service_bytes("HTTP/1.1 200 OK\r\n\r\n{}");
  EXPECT_EQ(until_close.take_for_client(), "");
  until_close.service_closed();
  EXPECT_EQ(until_close.take_for_client(), "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_EQ(until_close.state(), State::kEnded);
  EXPECT_EQ(until_close.take_for_service(), "");

  for (const std::string_view words : {"", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}"}) {
    RpcBroker broker(kRule);
    broker.client_bytes(post(kCall));
    broker.service_bytes(words);
    broker.service_closed();
    EXPECT_THAT(broker.take_for_client(), StartsWith("HTTP/1.1 502 "));
    EXPECT_EQ(broker.state(), State::kEnded);
  }
}

TEST(RpcHttp, EndsWhenTheServiceIsNotUnderstood) {
  RpcRule rule = kRule;
  rule.max_answer = 4;
  for (const std::string& words : {std::string("nonsense\r\n\r\n"), ok("12345"),
                                   "HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" + std::string()}) {
    RpcBroker broker(rule);
    broker.client_bytes(post(kCall));
    broker.service_bytes(words);
    EXPECT_THAT(broker.take_for_client(), StartsWith("HTTP/1.1 502 ")) << words;
    EXPECT_EQ(broker.state(), State::kEnded);
  }
}

// It would be taken for the answer to the next request.
TEST(RpcHttp, EndsWhenTheServiceSpeaksUnasked) {
  RpcBroker broker(kRule);
  broker.client_bytes(post(kCall));
  (void)broker.take_for_service();
  broker.service_bytes(ok("{}") + ok("{\"forged\":1}"));
  EXPECT_EQ(broker.take_for_client(), ok("{}"));
  EXPECT_EQ(broker.state(), State::kEnded);
}

TEST(RpcHttp, LetsAClientWaitForContinue) {
  RpcBroker broker(kRule);
  const std::string whole = post(kCall, "Expect: 100-continue\r\n");
  broker.client_bytes(whole.substr(0, whole.size() - kCall.size()));
  EXPECT_EQ(broker.take_for_client(), "HTTP/1.1 100 Continue\r\n\r\n");
  broker.client_bytes(kCall);
  EXPECT_EQ(broker.take_for_service(), request(kPassed));
}

TEST(RpcHttp, ClosesAfterTheAnswerIfTheClientWantsSo) {
  const Seen seen = feed({post(kNo, "Connection: close\r\n") + post(kNo)});
  EXPECT_THAT(seen.for_client, HasSubstr("Connection: close"));
  EXPECT_THAT(seen.for_client, EndsWith(kDenied));
  EXPECT_EQ(seen.records.size(), 1u);
  EXPECT_EQ(seen.state, State::kEnded);
}

}  // namespace
}  // namespace cloche::proto
