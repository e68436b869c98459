#include "proto/rpc_broker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cloche::proto {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using State = RpcBroker::State;

const RpcRule kRule{.methods = {"flow.read", "log.*"}, .context = {{"tenant", "a"}}};

std::string call(std::string_view method, std::string_view id) {
  return R"({"jsonrpc":"2.0","method":")" + std::string(method) + R"(","id":)" + std::string(id) + "}";
}

std::string passed(std::string_view method, std::string_view id) {
  return R"({"jsonrpc":"2.0","method":")" + std::string(method) + R"(","params":{"_context":{"tenant":"a"}},"id":)" +
         std::string(id) + "}";
}

std::string denied(std::string_view method, std::string_view id) {
  return error_answer(
      {kMethodNotFound, "the policy of this run does not allow the method \"" + std::string(method) + "\""}, id);
}

std::string framed(RpcFraming framing, std::string_view message) {
  std::string out;
  append_frame(framing, message, out);
  return out;
}

struct Seen {
  std::string for_service, for_client;
  std::vector<RpcCall> records;
  State state = State::kOpen;
  bool operator==(const Seen&) const = default;
};

void take(RpcBroker& broker, Seen& seen) {
  seen.for_service += broker.take_for_service();
  seen.for_client += broker.take_for_client();
  for (RpcCall& record : broker.take_records()) seen.records.push_back(std::move(record));
  seen.state = broker.state();
}

Seen feed(const std::vector<std::string_view>& pieces, const RpcRule& rule = kRule) {
  RpcBroker broker(rule);
  Seen seen;
  for (const std::string_view piece : pieces) {
    broker.client_bytes(piece);
    take(broker, seen);
  }
  return seen;
}

class BothFramings : public ::testing::TestWithParam<RpcFraming> {
 protected:
  std::string frame(std::string_view message) const { return framed(GetParam(), message); }
};

INSTANTIATE_TEST_SUITE_P(Rpc, BothFramings, ::testing::Values(RpcFraming::kLines, RpcFraming::kHeaders),
                         [](const auto& param) { return std::string(to_string(param.param)); });

TEST_P(BothFramings, WhatALargeMessageTookIsGivenBack) {
  constexpr std::size_t kLarge = 500'000;
  constexpr std::size_t kLittle = 64 * 1024;
  const std::string fill(kLarge, 'x');
  RpcBroker broker(kRule);
  Seen seen;
  const std::string question = frame(R"({"jsonrpc":"2.0","method":"log.a","params":{"a":")" + fill + R"("},"id":1})");
  broker.client_bytes(std::string_view(question).substr(0, kLarge));
  EXPECT_GE(broker.held(), kLarge);
  broker.client_bytes(std::string_view(question).substr(kLarge));
  take(broker, seen);
  EXPECT_LE(broker.held(), kLittle);
  const std::string answer = frame(R"({"jsonrpc":"2.0","id":1,"result":")" + fill + R"("})");
  broker.service_bytes(std::string_view(answer).substr(0, kLarge));
  EXPECT_GE(broker.held(), kLarge);
  broker.service_bytes(std::string_view(answer).substr(kLarge));
  take(broker, seen);
  EXPECT_LE(broker.held(), kLittle);
  EXPECT_EQ(seen.for_client, answer);
}

TEST_P(BothFramings, PassesAllowedCallsAndAnswersTheOthers) {
  const Seen seen = feed({frame(call("flow.read", "1")) + frame(call("flow.write", "2")) + frame(call("log.x", "3"))});
  EXPECT_EQ(seen.for_service, frame(passed("flow.read", "1")) + frame(passed("log.x", "3")));
  EXPECT_EQ(seen.for_client, frame(denied("flow.write", "2")));
  ASSERT_EQ(seen.records.size(), 3u);
  EXPECT_EQ(seen.records[1].verdict, RpcVerdict::kDenied);
  EXPECT_EQ(seen.state, State::kOpen);
}

TEST_P(BothFramings, IsTheSameWhereverTheStreamIsCut) {
  const std::string stream = frame(call("flow.read", "1")) +
                             frame("[" + call("log.x", "2") + "," + call("no", "3") + "]") + frame("nonsense") +
                             frame(call("no", "\"\\u00fc\"")) + frame("[]") + frame(call("log.\u00fc", "5"));
  const Seen whole = feed({stream});
  EXPECT_EQ(whole.records.size(), 7u);
  std::vector<std::string_view> bytes;
  for (std::size_t at = 0; at < stream.size(); ++at) {
    const std::string_view view = stream;
    EXPECT_EQ(feed({view.substr(0, at), view.substr(at)}), whole) << "cut at " << at;
    bytes.push_back(view.substr(at, 1));
  }
  EXPECT_EQ(feed(bytes), whole);
}

TEST_P(BothFramings, GoesOnAfterAMessageThatIsNotJson) {
  const Seen seen = feed({frame("{\"a\":") + frame("{\"a\":\"\xff\"}") + frame(call("flow.read", "1"))});
  EXPECT_EQ(seen.for_service, frame(passed("flow.read", "1")));
  EXPECT_THAT(seen.for_client, HasSubstr("-32700"));
  EXPECT_EQ(seen.records.size(), 3u);
}

TEST_P(BothFramings, AnswersAMessageThatIsTooLargeAndEnds) {
  RpcRule rule = kRule;
  rule.max_message = 200;
  const std::string large =
      R"({"jsonrpc":"2.0","method":"flow.read","id":1,"params":{"x":")" + std::string(200, 'x') + "\"}}";
  const Seen seen = feed({frame(call("flow.read", "0")) + frame(large) + frame(call("flow.read", "2"))}, rule);
  EXPECT_EQ(seen.for_service, frame(passed("flow.read", "0")));
  EXPECT_EQ(seen.for_client, frame(error_answer({kInvalidRequest, "a message of over 200 bytes"})));
  EXPECT_EQ(seen.state, State::kEnded);
}

TEST_P(BothFramings, MergesTheAnswersOfABatch) {
  RpcBroker broker(kRule);
  broker.client_bytes(frame("[" + call("flow.read", "1") + "," + call("no", "2") + "," + call("log.x", "\"3\"") + "]"));
  EXPECT_EQ(broker.take_for_service(), frame("[" + passed("flow.read", "1") + "," + passed("log.x", "\"3\"") + "]"));
  EXPECT_EQ(broker.take_for_client(), "");
  const std::string other = R"([{"jsonrpc":"2.0","result":0,"id":99}])";
  broker.service_bytes(frame(other));
  EXPECT_EQ(broker.take_for_client(), frame(other));
  broker.service_bytes(frame(R"( [{"jsonrpc":"2.0","result":[1],"id":"3"}, {"jsonrpc":"2.0","result":2,"id":1}] )"));
  EXPECT_EQ(broker.take_for_client(),
            frame(R"([{"jsonrpc":"2.0","result":[1],"id":"3"}, {"jsonrpc":"2.0","result":2,"id":1},)" +
                  denied("no", "2") + "]"));
}

TEST_P(BothFramings, DeliversItsPartOfABatchThatTheServiceAnswersOneByOne) {
  RpcBroker broker(kRule);
  broker.client_bytes(frame("[" + call("flow.read", "1") + "," + call("no", "2") + "," + call("log.x", "3") + "]"));
  const std::string one = frame(R"({"jsonrpc":"2.0","result":1,"id":3})");
  const std::string two = frame(R"({"jsonrpc":"2.0","result":2,"id":1})");
  broker.service_bytes(one);
  EXPECT_EQ(broker.take_for_client(), one);
  broker.service_bytes(two);
  EXPECT_EQ(broker.take_for_client(), two + frame("[" + denied("no", "2") + "]"));
}

TEST_P(BothFramings, DeliversItsPartOfABatchThatTheServiceRefuses) {
  RpcBroker broker(kRule);
  broker.client_bytes(frame("[" + call("flow.read", "1") + "," + call("no", "2") + "]"));
  const std::string error = frame(R"({"jsonrpc":"2.0","error":{"code":-32600,"message":"no batches"},"id":null})");
  broker.service_bytes(error);
  EXPECT_EQ(broker.take_for_client(), error + frame("[" + denied("no", "2") + "]"));
}

TEST_P(BothFramings, DeliversItsPartOfABatchWhenTheServiceCloses) {
  RpcBroker broker(kRule);
  broker.client_bytes(frame("[" + call("flow.read", "1") + "," + call("no", "2") + "]"));
  broker.service_closed();
  EXPECT_EQ(broker.take_for_client(), frame("[" + denied("no", "2") + "]"));
  EXPECT_EQ(broker.state(), State::kEnded);
  EXPECT_EQ(broker.end_reason(), "");
}

TEST_P(BothFramings, HoldsABoundedNumberOfBatches) {
  RpcBroker broker(kRule);
  const std::string batch = frame("[" + call("flow.read", "1") + "," + call("no", "2") + "]");
  for (int i = 0; i < 32; ++i) broker.client_bytes(batch);
  EXPECT_EQ(broker.take_for_client(), "");
  (void)broker.take_for_service();
  broker.client_bytes(batch);
  EXPECT_EQ(broker.take_for_service(), "");
  EXPECT_THAT(broker.take_for_client(), HasSubstr("-32000"));
}

TEST_P(BothFramings, PassesWhatTheServiceSaysAsItIs) {
  RpcBroker broker(kRule);
  broker.client_bytes(frame(call("flow.read", "1")));
  const std::string answer = R"( {"jsonrpc" : "2.0", "result":{"a":1,"a":2,"s":"\ud800"},  "id":1})";
  broker.service_bytes(frame(answer) + frame(R"({"method":"note"})"));
  EXPECT_EQ(broker.take_for_client(), frame(answer) + frame(R"({"method":"note"})"));
}

TEST_P(BothFramings, LetsTheServiceSpeakFirst) {
  RpcBroker broker(kRule);
  const std::string hello = frame(R"({"jsonrpc":"2.0","method":"hello","id":1})");
  broker.service_bytes(hello);
  EXPECT_EQ(broker.take_for_client(), hello);
  const std::string answer = frame(R"({"jsonrpc":"2.0","result":{},"id":1})");
  broker.client_bytes(answer + answer);
  EXPECT_EQ(broker.take_for_service(), answer);
  const auto records = broker.take_records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].verdict, RpcVerdict::kDenied);
}

TEST_P(BothFramings, EndsWhenTheServiceIsNotUnderstood) {
  RpcRule rule = kRule;
  rule.max_answer = 100;
  for (const std::string& words : {frame("not JSON"), frame("\"" + std::string(100, 'x') + "\"")}) {
    RpcBroker broker(rule);
    broker.client_bytes(frame(call("flow.read", "1")));
    broker.service_bytes(words);
    EXPECT_EQ(broker.state(), State::kEnded);
    EXPECT_THAT(broker.end_reason(), StartsWith("the service"));
    EXPECT_EQ(broker.take_for_client(), "");
  }
}

TEST_P(BothFramings, DrainsWhenTheClientCloses) {
  RpcBroker broker(kRule);
  broker.client_bytes(frame(call("flow.read", "1")));
  broker.client_closed();
  EXPECT_EQ(broker.state(), State::kDraining);
  EXPECT_FALSE(broker.wants_client_bytes());
  EXPECT_EQ(broker.take_for_service(), frame(passed("flow.read", "1")));
  const std::string answer = frame(R"({"jsonrpc":"2.0","result":1,"id":1})");
  broker.service_bytes(answer);
  broker.service_closed();
  EXPECT_EQ(broker.take_for_client(), answer);
  EXPECT_EQ(broker.state(), State::kEnded);
}

// A guest that sends and never reads must not fill the broker's memory.
TEST_P(BothFramings, StopsReadingWhileItsWordsAreNotTaken) {
  RpcBroker broker(kRule);
  std::string piece;
  while (piece.size() < 60'000) piece += frame(call("no", "1"));
  int pieces = 0;
  for (; broker.wants_client_bytes() && pieces < 20; ++pieces) broker.client_bytes(piece);
  EXPECT_LT(pieces, 10);
  Seen seen;
  for (int i = 0; i < 100 && !broker.wants_client_bytes(); ++i) take(broker, seen);
  take(broker, seen);
  EXPECT_TRUE(broker.wants_client_bytes());
  EXPECT_EQ(seen.records.size(), pieces * (piece.size() / frame(call("no", "1")).size()));
}

TEST(RpcBroker, EndsWhenHeadersAreBroken) {
  const Seen seen = feed({"Content-Length: 2\r\nX-Cloche-Context: {}\r\n\r\n{}"});
  EXPECT_EQ(seen.for_service, "");
  EXPECT_THAT(seen.for_client, StartsWith("Content-Length: "));
  EXPECT_THAT(seen.for_client, HasSubstr("-32700"));
  EXPECT_EQ(seen.state, State::kEnded);
}

TEST(RpcBroker, WritesLinesThatNoReaderSplits) {
  const Seen seen = feed({"{\"jsonrpc\":\"2.0\",\"method\":\"flow.read\",\"params\":{\"a\":\"x\\n\u2028\u0085y\"}}\n"});
  EXPECT_THAT(seen.for_service, HasSubstr(R"("x\n\u2028\u0085y")"));
  EXPECT_EQ(seen.for_service.find('\n'), seen.for_service.size() - 1);
}

TEST(RpcBroker, HoldsAClientToTheServicesFraming) {
  RpcBroker broker(kRule);
  broker.service_bytes("{}\n");
  broker.client_bytes("Content-Length: 2\r\n\r\n{}\n");
  EXPECT_EQ(broker.take_for_service(), "");
  EXPECT_THAT(broker.take_for_client(), HasSubstr("-32700"));
}

}  // namespace
}  // namespace cloche::proto
