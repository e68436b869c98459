#include "proto/rpc_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "proto/rpc_glob.h"

namespace cloche::proto {
namespace {

using ::testing::HasSubstr;

TEST(MethodPattern, MatchesTheNameOrWhatIsLonger) {
  EXPECT_TRUE(method_matches("flow.read", "flow.read"));
  EXPECT_FALSE(method_matches("flow.read", "flow.reads"));
  EXPECT_FALSE(method_matches("flow.read", "flow.rea"));
  EXPECT_FALSE(method_matches("flow.read", "Flow.read"));
  EXPECT_TRUE(method_matches("log.*", "log.write"));
  EXPECT_TRUE(method_matches("log.*", "log.a.b"));
  EXPECT_FALSE(method_matches("log.*", "log."));
  EXPECT_FALSE(method_matches("log.*", "log"));
  EXPECT_FALSE(method_matches("log.*", "xlog.write"));
  EXPECT_TRUE(method_matches("*", "x"));
}

TEST(MethodPattern, RefusesWhatItDoesNotMean) {
  for (const std::string_view pattern : {"", "*.read", "a*b", "**", "a\n", "a\x7f", "gr\xc3\xbcn"}) {
    EXPECT_FALSE(check_method_pattern(pattern)) << pattern;
  }
  EXPECT_FALSE(check_method_pattern(std::string(257, 'a')));
  for (const std::string_view pattern : {"a", "*", "a.*", "textDocument/didOpen", "$/cancelRequest"}) {
    EXPECT_TRUE(check_method_pattern(pattern)) << pattern;
  }
}

TEST(RpcRule, AllowsNoMethodByItself) {
  EXPECT_FALSE(allows_method(RpcRule{}, "a"));
  EXPECT_TRUE(allows_method({.methods = {"b", "a"}}, "a"));
  EXPECT_FALSE(allows_method({.methods = {"*"}}, ""));
  EXPECT_FALSE(allows_method({.methods = {"*"}}, std::string_view("a\0b", 3)));
  EXPECT_FALSE(allows_method({.methods = {"*"}}, "a\n"));
}

TEST(RpcRule, IsCheckedAsAWhole) {
  EXPECT_TRUE(check_rule({.methods = {"a"}, .context = {{"tenant", "\u00fc"}}}));
  EXPECT_FALSE(check_rule({.methods = {"a", "*b"}}));
  EXPECT_FALSE(check_rule({.context = {{"", "x"}}}));
  EXPECT_FALSE(check_rule({.context = {{"a", "\xff"}}}));
  EXPECT_FALSE(check_rule({.context_field = ""}));
  EXPECT_FALSE(check_rule({.context_field = "\u00fc"}));
  EXPECT_FALSE(check_rule({.context_header = "X Y"}));
  EXPECT_FALSE(check_rule({.context_header = "X\r\nHost"}));
  EXPECT_FALSE(check_rule({.max_message = 0}));
  const auto large = check_rule({.context = {{"a", std::string(5000, 'x')}}});
  ASSERT_FALSE(large);
  EXPECT_THAT(large.error().message, HasSubstr("4096"));
}

// It goes into a header, too.
TEST(RpcRule, PrintsTheContextInOneLineOfAscii) {
  const RpcRule rule{.context = {{"a", "x\r\nHost: y"}, {"b", "\u00fc\x7f\""}}};
  EXPECT_EQ(context_json(rule), R"({"a":"x\r\nHost: y","b":"\u00fc\u007f\""})");
  EXPECT_EQ(context_json(RpcRule{}), "{}");
}

TEST(RpcRule, KnowsTheContextUnderOtherSpellings) {
  const RpcRule rule;
  for (const std::string_view key : {"_context", "_CONTEXT", "_conteXt"}) EXPECT_TRUE(names_context_field(rule, key));
  for (const std::string_view key : {"context", "_contexts", "", "_conte\u0445t"}) {
    EXPECT_FALSE(names_context_field(rule, key));
  }
  const RpcRule folds{.context_field = "task_i"};
  EXPECT_TRUE(names_context_field(folds, "ta\u017f\u212a_\u0131"));
  for (const std::string_view name : {"X-Cloche-Context", "x-cloche-context", "X_CLOCHE_CONTEXT", "x-cloche_context"}) {
    EXPECT_TRUE(names_context_header(rule, name));
  }
  EXPECT_FALSE(names_context_header(rule, "X-Cloche-Contexts"));
  EXPECT_FALSE(names_context_header(rule, "X-Cloche"));
}

}  // namespace
}  // namespace cloche::proto
