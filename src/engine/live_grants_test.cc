#include "engine/live_grants.h"

#include <gtest/gtest.h>

#include "policy/ceiling.h"

namespace cloche {
namespace {

using egress::Change;

Change host(std::string rule) { return {Change::What::kHost, std::move(rule), {}}; }
Change socket(std::string path) { return {Change::What::kSocket, std::move(path), {}}; }
Change secret(std::string name) { return {Change::What::kSecret, std::move(name), {}}; }

std::vector<Ceiling> ceiling(std::string_view text) {
  auto parsed = parse_ceiling("version = 1\n" + std::string(text), "c.toml");
  EXPECT_TRUE(parsed) << parsed.error().text();
  return {*parsed};
}

Policy policy() {
  Policy out;
  SecretGrant token;
  token.name = "TOKEN";
  token.hosts = {"a.example:443"};
  token.source = SecretGrant::Source::kCommand;
  token.from = "cat token";
  out.secrets.push_back(token);
  return out;
}

TEST(LiveGrants, X10_WithoutACeilingWhatIsWellFormedPasses) {
  const LiveGrants grants(policy(), {});
  for (const Change& change : {host("a.example:443"), host("10.0.0.0/8:1-5"), socket("/run/a.sock"), secret("TOKEN")}) {
    EXPECT_TRUE(grants.check_grant(change, {})) << change.text;
  }
}

TEST(LiveGrants, X10_WhatIsNoGrantIsRefusedBeforeAnybodyIsAsked) {
  Change endless = host("a.example:443");
  endless.lasts = Millis(0);
  Change too_long = host("a.example:443");
  too_long.lasts = Millis(std::int64_t{1} << 50);
  for (const Change& change :
       {host(""), host("a.example"), host("*:443"), host("a.example:53"), host(std::string(2000, 'a') + ":443"),
        socket("relative"), socket("/run/../a"), secret("not a name"), secret(""), endless, too_long}) {
    const Status checked = check_change(change);
    ASSERT_FALSE(checked) << change.text;
    EXPECT_EQ(checked.error().code, ErrorCode::kInvalidInput);
    EXPECT_EQ(checked.error().text().find('\n'), std::string::npos);
  }
}

TEST(LiveGrants, X10_WhatTheRunDeniesCannotBeGranted) {
  Policy of_run = policy();
  of_run.net_deny = {"*.example:9000-9010"};
  const LiveGrants grants(of_run, {});
  EXPECT_FALSE(grants.check_grant(host("a.example:9000"), {}));
  EXPECT_TRUE(grants.check_grant(host("a.example:443"), {}));
  EXPECT_TRUE(grants.check_grant(host("example:9000"), {}));
}

TEST(LiveGrants, X10_EachCeilingHolds) {
  const auto narrow = ceiling("[net]\nallow = [\"*.example:443\"]\n[sockets]\nallow = [\"/run/a\"]\n");
  const auto other = ceiling("[net]\nallow = [\"b.example:443\"]\n[sockets]\nallow = [\"/run\"]\n");
  const LiveGrants grants(policy(), narrow);
  EXPECT_TRUE(grants.check_grant(host("a.example:443"), {}));
  EXPECT_TRUE(grants.check_grant(host("b.example:443"), other));
  EXPECT_TRUE(grants.check_grant(socket("/run/a/x.sock"), other));
  for (const Change& change : {host("a.example:80"), host("10.0.0.1:443"), socket("/run/b.sock")}) {
    const Status checked = grants.check_grant(change, {});
    ASSERT_FALSE(checked) << change.text;
    EXPECT_EQ(checked.error().code, ErrorCode::kRefused);
    EXPECT_EQ(checked.error().step, "ceiling");
  }
  EXPECT_FALSE(grants.check_grant(host("a.example:443"), other)) << "the operator's of today holds, too";
}

TEST(LiveGrants, X10_ACeilingThatDoesNotNameTheWayOutAllowsNone) {
  const LiveGrants grants(policy(), ceiling("[limits]\npids = 1\n"));
  EXPECT_FALSE(grants.check_grant(host("a.example:443"), {}));
  EXPECT_FALSE(grants.check_grant(socket("/run/a.sock"), {}));
  EXPECT_FALSE(grants.check_grant(secret("TOKEN"), {})) << "its value comes from a command";
}

}  // namespace
}  // namespace cloche
