#include "proto/rpc_decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "proto/json_print.h"

namespace cloche::proto {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const RpcRule kPlain{.methods = {"flow.read", "log.*"}};
const RpcRule kTenant{.methods = {"flow.read", "log.*"}, .context = {{"tenant", "a"}}};

RpcDecision decided(std::string_view text, const RpcRule& rule = kPlain) {
  AskedIds asked;
  return decide(text, rule, asked);
}

int code_of(const std::string& answer) {
  const auto tree = scan_json(answer);
  if (!tree || !tree->root().find("error")) return 0;
  return std::stoi(std::string(tree->root().find("error")->find("code")->text()));
}

std::string id_in(const std::string& answer) {
  const auto tree = scan_json(answer);
  return tree ? print_json(*tree->root().find("id")) : "none";
}

void expect_refused(std::string_view text, int code, RpcVerdict verdict, const RpcRule& rule = kPlain) {
  const RpcDecision decision = decided(text, rule);
  EXPECT_EQ(decision.for_service, "") << text;
  EXPECT_EQ(code_of(decision.for_client), code) << text << "\n" << decision.for_client;
  ASSERT_EQ(decision.records.size(), 1u) << text;
  EXPECT_EQ(decision.records[0].verdict, verdict) << text;
  EXPECT_NE(decision.records[0].reason, "") << text;
}

TEST(RpcDecide, PassesAnAllowedCallAsItWasUnderstood) {
  const RpcDecision decision =
      decided(R"( {"id": 7, "params": {"b": [1.50, "\u0041"]}, "method": "log.wr\u0069te", "jsonrpc": "2.0"} )");
  EXPECT_EQ(decision.for_service, R"({"jsonrpc":"2.0","method":"log.write","params":{"b":[1.50,"A"]},"id":7})");
  EXPECT_EQ(decision.for_client, "");
  EXPECT_EQ(decision.calls_passed, 1u);
  EXPECT_EQ(decision.records, (std::vector<RpcCall>{{"log.write", "7", RpcVerdict::kAllowed, "", 90}}));
}

TEST(RpcDecide, PassesNotificationsAndEveryId) {
  EXPECT_EQ(decided(R"({"jsonrpc":"2.0","method":"flow.read"})").for_service,
            R"({"jsonrpc":"2.0","method":"flow.read"})");
  for (const std::string id : {"1", "-5", "0", "null", "\"\"", "\"x\"", "123456789012345678901234567890"}) {
    const RpcDecision decision = decided(R"({"jsonrpc":"2.0","method":"flow.read","id":)" + id + "}");
    EXPECT_EQ(decision.for_service, R"({"jsonrpc":"2.0","method":"flow.read","id":)" + id + "}");
    EXPECT_EQ(decision.records[0].id, id);
  }
}

TEST(RpcDecide, AnswersADeniedMethodWithItsId) {
  const RpcDecision decision = decided(R"({"jsonrpc":"2.0","method":"flow.write","id":"q\n1"})");
  EXPECT_EQ(decision.for_service, "");
  EXPECT_EQ(code_of(decision.for_client), kMethodNotFound);
  EXPECT_EQ(id_in(decision.for_client), R"("q\n1")");
  EXPECT_THAT(decision.for_client, HasSubstr("flow.write"));
  EXPECT_EQ(decision.records[0].verdict, RpcVerdict::kDenied);
}

TEST(RpcDecide, RecordsADeniedNotificationWithoutAnswer) {
  const RpcDecision decision = decided(R"({"jsonrpc":"2.0","method":"flow.write"})");
  EXPECT_EQ(decision.for_service + decision.for_client, "");
  ASSERT_EQ(decision.records.size(), 1u);
  EXPECT_EQ(decision.records[0].verdict, RpcVerdict::kDenied);
}

TEST(RpcDecide, DeniesNamesThatOthersReadDifferently) {
  const RpcRule all{.methods = {"*"}};
  for (const std::string name : {R"(log.\u0000)", R"(a\nb)", R"(\u202ea)", R"(gr\u00fcn)", R"()"}) {
    expect_refused(R"({"jsonrpc":"2.0","id":1,"method":")" + name + "\"}", kMethodNotFound, RpcVerdict::kDenied, all);
  }
  expect_refused(R"({"jsonrpc":"2.0","id":1,"method":")" + std::string(257, 'a') + "\"}", kMethodNotFound,
                 RpcVerdict::kDenied, all);
}

TEST(RpcDecide, ShowsHostileNamesHarmlessly) {
  const RpcDecision decision =
      decided(R"({"jsonrpc":"2.0","id":1,"method":"\u001b[2J\n)" + std::string(500, 'a') + "\"}");
  EXPECT_EQ(decision.records[0].method.size(), 128u);
  EXPECT_THAT(decision.records[0].method, HasSubstr("\\x1b[2J\\x0aaaa"));
  EXPECT_THAT(decision.for_client, Not(HasSubstr("\x1b")));
}

TEST(RpcDecide, AnswersWhatIsNotJsonWithAParseError) {
  for (const std::string_view text :
       {"", "{", "x", "{}{}", "\xff", R"({"jsonrpc":"2.0","method":"flow.read","id":1,"id":2})",
        R"({"jsonrpc":"2.0","method":"flow.read","method":"flow.write","id":1})",
        R"({"jsonrpc":"2.0","method":"flow.read","meth\u006fd":"flow.write","id":1})",
        R"({"jsonrpc":"2.0","method":"flow.read","id":1,"params":{"a":1,"\u0061":2}})",
        R"({"jsonrpc":"2.0","method":"flow.read","method\u0000":"flow.write","id":1})",
        "{\"jsonrpc\":\"2.0\",\"method\":\"flow.read\",\"id\":1,\"params\":{\"a\":\"\xc0\xaf\"}}"}) {
    expect_refused(text, kParseError, RpcVerdict::kMalformed);
    EXPECT_EQ(id_in(decided(text).for_client), "null");
  }
  std::string deep = R"({"jsonrpc":"2.0","method":"flow.read","id":1,"params":)";
  deep += std::string(64, '[') + std::string(64, ']') + "}";
  expect_refused(deep, kParseError, RpcVerdict::kMalformed);
}

TEST(RpcDecide, AnswersWhatIsNoRequest) {
  for (const std::string_view text : {"1",
                                      "null",
                                      "\"x\"",
                                      "{}",
                                      R"({"method":"flow.read","id":1})",
                                      R"({"jsonrpc":"1.0","method":"flow.read","id":1})",
                                      R"({"jsonrpc":2.0,"method":"flow.read","id":1})",
                                      R"({"jsonrpc":"2.0","id":1})",
                                      R"({"jsonrpc":"2.0","method":1,"id":1})",
                                      R"({"jsonrpc":"2.0","method":["flow.read"],"id":1})",
                                      R"({"jsonrpc":"2.0","method":null,"id":1})",
                                      R"({"jsonrpc":"2.0","method":{"a":1},"id":1})",
                                      R"({"jsonrpc":"2.0","method":"flow.read","id":{}})",
                                      R"({"jsonrpc":"2.0","method":"flow.read","id":[1]})",
                                      R"({"jsonrpc":"2.0","method":"flow.read","id":true})",
                                      R"({"jsonrpc":"2.0","method":"flow.read","id":1.5})",
                                      R"({"jsonrpc":"2.0","method":"flow.read","id":1e3})",
                                      R"({"jsonrpc":"2.0","method":"flow.read","id":1,"params":1})",
                                      R"({"jsonrpc":"2.0","method":"flow.read","id":1,"params":"x"})",
                                      R"({"jsonrpc":"2.0","method":"flow.read","id":1,"Method":"flow.write"})",
                                      R"({"jsonrpc":"2.0","method":"flow.read","id":1,"METHOD":"flow.write"})",
                                      R"({"jsonrpc":"2.0","method":"flow.read","id":1,"Params":{}})",
                                      R"({"jsonrpc":"2.0","method":"flow.read","id":1,"extra":1})",
                                      R"({"jsonrpc":"2.0","method":"flow.read","id":1,"result":1})",
                                      R"({"jsonrpc":"2.0","result":1,"error":{},"id":1})",
                                      R"({"jsonrpc":"2.0","result":1})",
                                      R"({"jsonrpc":"2.0","error":1,"id":1})",
                                      R"({"jsonrpc":"2.0","result":1,"id":1,"params":[]})"}) {
    expect_refused(text, kInvalidRequest, RpcVerdict::kMalformed);
  }
  expect_refused(R"({"jsonrpc":"2.0","method":"flow.read","id":")" + std::string(300, 'x') + "\"}", kInvalidRequest,
                 RpcVerdict::kMalformed);
  EXPECT_EQ(id_in(decided(R"({"jsonrpc":"2.0","method":1,"id":"a"})").for_client), "\"a\"");
  EXPECT_EQ(id_in(decided(R"({"jsonrpc":"2.0","method":"flow.read","id":[1]})").for_client), "null");
}

TEST(RpcDecide, AttachesTheContext) {
  EXPECT_EQ(decided(R"({"jsonrpc":"2.0","method":"flow.read","id":1,"params":{"x":1}})", kTenant).for_service,
            R"({"jsonrpc":"2.0","method":"flow.read","params":{"x":1,"_context":{"tenant":"a"}},"id":1})");
  const std::string made = R"({"jsonrpc":"2.0","method":"flow.read","params":{"_context":{"tenant":"a"}},"id":1})";
  EXPECT_EQ(decided(R"({"jsonrpc":"2.0","method":"flow.read","id":1})", kTenant).for_service, made);
  EXPECT_EQ(decided(R"({"jsonrpc":"2.0","method":"flow.read","id":1,"params":null})", kTenant).for_service, made);
  EXPECT_EQ(decided(R"({"jsonrpc":"2.0","method":"flow.read","id":1,"params":{}})", kTenant).for_service, made);
}

TEST(RpcDecide, RefusesParamsWithoutAPlaceForTheContext) {
  expect_refused(R"({"jsonrpc":"2.0","method":"flow.read","id":1,"params":[1]})", kInvalidParams, RpcVerdict::kDenied,
                 kTenant);
  expect_refused(R"({"jsonrpc":"2.0","method":"flow.read","id":1,"params":[{"_context":{"tenant":"b"}}]})",
                 kInvalidParams, RpcVerdict::kDenied, kTenant);
  EXPECT_THAT(decided(R"({"jsonrpc":"2.0","method":"flow.read","id":1,"params":[1]})").for_service, HasSubstr("[1]"));
}

TEST(RpcDecide, LetsNoGuestSetTheContext) {
  for (const RpcRule& rule : {kTenant, kPlain}) {
    for (const std::string key : {"_context", R"(\u005fcontext)", R"(_c\u006Fntext)", "_CONTEXT", "_Context"}) {
      const std::string call =
          R"({"jsonrpc":"2.0","method":"flow.read","id":1,"params":{"x":1,")" + key + R"(":{"tenant":"b"}}})";
      expect_refused(call, kInvalidParams, RpcVerdict::kDenied, rule);
      EXPECT_THAT(decided("[" + call + "]", rule).for_client, HasSubstr("only Cloche")) << call;
      EXPECT_EQ(decided("[" + call + "]", rule).for_service, "");
    }
    // Twice, or ended by a NUL: not even JSON here.
    expect_refused(
        R"({"jsonrpc":"2.0","method":"flow.read","id":1,"params":{"_context":{},"\u005fcontext":{"tenant":"b"}}})",
        kParseError, RpcVerdict::kMalformed, rule);
    expect_refused(R"({"jsonrpc":"2.0","method":"flow.read","id":1,"params":{"_context\u0000":{"tenant":"b"}}})",
                   kParseError, RpcVerdict::kMalformed, rule);
    // Beside params.
    expect_refused(R"({"jsonrpc":"2.0","method":"flow.read","id":1,"_context":{"tenant":"b"}})", kInvalidRequest,
                   RpcVerdict::kMalformed, rule);
  }
  const RpcDecision quiet = decided(R"({"jsonrpc":"2.0","method":"flow.read","params":{"_context":1}})", kTenant);
  EXPECT_EQ(quiet.for_service + quiet.for_client, "");
  EXPECT_EQ(quiet.records[0].verdict, RpcVerdict::kDenied);
}

TEST(RpcDecide, DecidesEachElementOfABatch) {
  const RpcDecision decision =
      decided(R"([{"jsonrpc":"2.0","method":"flow.read","id":1},{"jsonrpc":"2.0","method":"flow.write","id":2},)"
              R"({"jsonrpc":"2.0","method":"log.x"},{"jsonrpc":"2.0","method":"flow.write"},7,[{}],)"
              R"({"jsonrpc":"2.0","method":"flow.read","id":"b"}])",
              kTenant);
  EXPECT_EQ(decision.for_service,
            R"([{"jsonrpc":"2.0","method":"flow.read","params":{"_context":{"tenant":"a"}},"id":1},)"
            R"({"jsonrpc":"2.0","method":"log.x","params":{"_context":{"tenant":"a"}}},)"
            R"({"jsonrpc":"2.0","method":"flow.read","params":{"_context":{"tenant":"a"}},"id":"b"}])");
  EXPECT_EQ(decision.for_client, "");
  EXPECT_EQ(decision.awaited, (std::vector<std::string>{"1", "\"b\""}));
  ASSERT_EQ(decision.held.size(), 3u);
  EXPECT_EQ(code_of(decision.held[0]), kMethodNotFound);
  EXPECT_EQ(id_in(decision.held[0]), "2");
  EXPECT_EQ(code_of(decision.held[1]), kInvalidRequest);
  EXPECT_EQ(code_of(decision.held[2]), kInvalidRequest);
  EXPECT_EQ(decision.records.size(), 7u);
}

TEST(RpcDecide, AnswersABatchAloneIfTheServiceHasNothingToAnswer) {
  const RpcDecision denied = decided(
      R"([{"jsonrpc":"2.0","method":"x","id":1},{"jsonrpc":"2.0","method":"y","id":2},{"jsonrpc":"2.0","method":"log.x"}])");
  EXPECT_EQ(denied.for_service, R"([{"jsonrpc":"2.0","method":"log.x"}])");
  const auto tree = scan_json(denied.for_client);
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->root().children().size(), 2u);
  EXPECT_TRUE(denied.held.empty());

  const RpcDecision quiet = decided(R"([{"jsonrpc":"2.0","method":"x"}])");
  EXPECT_EQ(quiet.for_service + quiet.for_client, "");
}

TEST(RpcDecide, RefusesEmptyAndLargeBatches) {
  expect_refused("[]", kInvalidRequest, RpcVerdict::kMalformed);
  expect_refused(" [ ] ", kInvalidRequest, RpcVerdict::kMalformed);
  std::string large = "[1";
  for (int i = 0; i < 256; ++i) large += ",1";
  expect_refused(large + "]", kInvalidRequest, RpcVerdict::kMalformed);
}

TEST(RpcDecide, PassesOnlyAnswersThatWereAskedFor) {
  AskedIds asked;
  asked.add("\"s1\"");
  const std::string answer = R"({"jsonrpc":"2.0","result":{"ok":true},"id":"s1"})";
  EXPECT_EQ(decide(answer, kTenant, asked).for_service, answer);
  const RpcDecision again = decide(answer, kTenant, asked);
  EXPECT_EQ(again.for_service + again.for_client, "");
  ASSERT_EQ(again.records.size(), 1u);
  EXPECT_EQ(again.records[0].verdict, RpcVerdict::kDenied);
  asked.add("5");
  EXPECT_EQ(decide(R"({"jsonrpc":"2.0","result":1,"id":"5"})", kPlain, asked).for_service, "");
  const std::string error = R"([{"jsonrpc":"2.0","error":{"code":1,"message":"m"},"id":5}])";
  EXPECT_EQ(decide(error, kPlain, asked).for_service, error);
}

TEST(RpcDecide, RemembersABoundedNumberOfQuestions) {
  AskedIds asked;
  for (int i = 0; i < 1025; ++i) asked.add(std::to_string(i));
  EXPECT_FALSE(asked.take("0"));
  EXPECT_TRUE(asked.take("1"));
  EXPECT_TRUE(asked.take("1024"));
}

}  // namespace
}  // namespace cloche::proto
