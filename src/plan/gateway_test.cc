// The way out in a plan: steps, variables, refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <iterator>

#include "filter/filter.h"
#include "plan/plan.h"
#include "plan/sample_hosts.h"

namespace cloche {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;
using wire::StepKind;

HostFacts host_with(std::vector<SocketFacts> sockets = {}) {
  HostFacts host = samples::root_v1();
  host.arch = filter::native_arch();
  host.sockets = std::move(sockets);
  return host;
}

Request program() {
  Request request;
  request.argv = {"/usr/bin/true"};
  request.home = "/home/me";
  return request;
}

Plan must_plan(const Policy& policy, const HostFacts& host = host_with()) {
  auto plan = make_plan(policy, program(), host);
  EXPECT_TRUE(plan) << plan.error().text();
  return plan ? *plan : Plan{};
}

std::string refusal_of(const Policy& policy, const HostFacts& host = host_with()) {
  const auto plan = make_plan(policy, program(), host);
  if (plan) return "(planned)";
  EXPECT_EQ(plan.error().code, ErrorCode::kRefused);
  return plan.error().text();
}

Policy with_net() {
  Policy policy;
  policy.net_allow = {{"b.org:443", {}}, {"a.org:80-81", Millis(5)}, {"*.c.org:443", {}}};
  policy.net_deny = {"x.c.org:443"};
  policy.net_limits.rate = mebibytes(1);
  return policy;
}

Policy with_secret() {
  Policy policy = with_net();
  policy.secrets = {{"TOKEN", {"b.org:443"}, {}, "Authorization", SecretGrant::Source::kFile, "~/key", {}}};
  return policy;
}

std::vector<Step> all(const Plan& plan, StepKind kind) {
  std::vector<Step> out;
  std::ranges::copy_if(plan.steps, std::back_inserter(out), [&](const Step& s) { return s.kind == kind; });
  return out;
}

std::size_t place(const Plan& plan, StepKind kind) {
  const auto found = std::ranges::find(plan.steps, kind, &Step::kind);
  EXPECT_NE(found, plan.steps.end());
  return static_cast<std::size_t>(found - plan.steps.begin());
}

const Step* file(const Plan& plan, const std::string& path) {
  const auto found =
      std::ranges::find_if(plan.steps, [&](const Step& s) { return s.kind == StepKind::kFile && s.a == path; });
  return found == plan.steps.end() ? nullptr : &*found;
}

const ReceiptLine* line(const Plan& plan, Guarantee g) {
  const auto found = std::ranges::find(plan.guarantees, g, &ReceiptLine::guarantee);
  return found == plan.guarantees.end() ? nullptr : &*found;
}

TEST(PlanGateway, NoPolicyHasOneByItself) {
  const Plan plan = must_plan({});
  EXPECT_FALSE(plan.gateway);
  EXPECT_FALSE(plan.loopback);
  EXPECT_EQ(line(plan, Guarantee::kGateway), nullptr);
  EXPECT_THAT(plan.env, Not(Contains(Pair("HTTP_PROXY", testing::_))));
  EXPECT_EQ(file(plan, "etc/resolv.conf"), nullptr);
  for (const StepKind kind :
       {StepKind::kLocalRoutes, StepKind::kListen, StepKind::kPackets, StepKind::kListenUnix, StepKind::kLoopbackUp}) {
    EXPECT_THAT(all(plan, kind), IsEmpty());
  }
}

TEST(PlanGateway, H12_ListensOnEveryPortOnceAndOnTheProxyAndTheNameserver) {
  const Plan plan = must_plan(with_net());
  ASSERT_TRUE(plan.gateway);
  EXPECT_EQ(plan.gateway->allow, with_net().net_allow);
  EXPECT_EQ(plan.gateway->deny, with_net().net_deny);
  EXPECT_EQ(plan.gateway->limits, with_net().net_limits);
  EXPECT_THAT(plan.gateway->ports, ElementsAre(80, 81, 443));
  EXPECT_EQ(plan.gateway->proxy_port, 3128);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> listeners;
  for (const Step& step : all(plan, StepKind::kListen)) listeners.emplace_back(step.x, step.y);
  EXPECT_THAT(listeners, ElementsAre(Pair(1, 80), Pair(1, 81), Pair(1, 443), Pair(2, 3128), Pair(3, 53), Pair(4, 53)));
  EXPECT_TRUE(plan.loopback);
  EXPECT_LT(place(plan, StepKind::kNetwork), place(plan, StepKind::kLoopbackUp));
  EXPECT_LT(place(plan, StepKind::kLoopbackUp), place(plan, StepKind::kLocalRoutes));
  EXPECT_LT(place(plan, StepKind::kLocalRoutes), place(plan, StepKind::kListen));
  EXPECT_LT(place(plan, StepKind::kPackets), place(plan, StepKind::kDropCapabilities));
  EXPECT_NE(plan.namespaces & CLONE_NEWNET, 0u);
  EXPECT_EQ(all(plan, StepKind::kLandlock).front().y, 0u) << "TCP is the gateway's to judge";
}

TEST(PlanGateway, TheProxyMakesRoomForThePolicysPorts) {
  Policy policy;
  policy.net_allow = {{"a.org:3127-3130", {}}};
  EXPECT_EQ(must_plan(policy).gateway->proxy_port, 3131);
}

TEST(PlanGateway, ProgramsAreToldUnlessThePolicyTellsThem) {
  Policy policy = with_net();
  policy.env.set = {{"http_proxy", "mine"}};
  const Plan plan = must_plan(policy);
  for (const char* name : {"HTTP_PROXY", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"}) {
    EXPECT_THAT(plan.env, Contains(Pair(name, "http://127.0.0.1:3128")));
  }
  EXPECT_THAT(plan.env, Contains(Pair("NO_PROXY", "localhost,127.0.0.1,::1")));
  EXPECT_THAT(plan.env, Contains(Pair("http_proxy", "mine")));
  EXPECT_THAT(plan.env, Not(Contains(Key("SSL_CERT_FILE")))) << "without secrets nobody ends TLS";
  ASSERT_NE(file(plan, "etc/resolv.conf"), nullptr);
  EXPECT_THAT(file(plan, "etc/resolv.conf")->data, HasSubstr("nameserver 127.0.0.1\n"));
  EXPECT_THAT(file(plan, "etc/hosts")->data, HasSubstr("localhost"));
}

TEST(PlanGateway, LocalhostIsTheHostsWhereThePolicyNamesIt) {
  Policy policy;
  policy.net_allow = {{"localhost:8000", {}}};
  const Plan plan = must_plan(policy);
  EXPECT_THAT(file(plan, "etc/hosts")->data, Not(HasSubstr("localhost")));
  EXPECT_THAT(plan.env, Contains(Pair("NO_PROXY", "localhost,127.0.0.1,::1"))) << "servers of the cell's own";
}

TEST(PlanGateway, X9_ASecretIsAnEmptyVariableAndABundleWithoutContent) {
  const Plan plan = must_plan(with_secret());
  EXPECT_THAT(plan.env, Contains(Pair("TOKEN", "")));
  EXPECT_EQ(plan.gateway->bundle, "/etc/ssl/certs/cloche-ca.pem");
  EXPECT_EQ(plan.gateway->secrets.front().from, "/home/me/key");
  for (const char* path : {"etc/ssl/certs/cloche-ca.pem", "etc/ssl/certs/ca-certificates.crt"}) {
    ASSERT_NE(file(plan, path), nullptr) << path;
    EXPECT_TRUE(file(plan, path)->data.empty());
  }
  for (const char* name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
                           "GIT_SSL_CAINFO", "PIP_CERT", "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE"}) {
    EXPECT_THAT(plan.env, Contains(Pair(name, plan.gateway->bundle)));
  }
  const auto binds_certificates = [](const Plan& of) {
    return std::ranges::any_of(of.steps,
                               [](const Step& s) { return s.kind == StepKind::kBind && s.b == "/etc/ssl/certs"; });
  };
  EXPECT_FALSE(binds_certificates(plan)) << "a file could not be made in the host's directory";
  EXPECT_TRUE(binds_certificates(must_plan(with_net())));
}

TEST(PlanGateway, TheReceiptNamesIt) {
  const Plan plan = must_plan(with_net());
  EXPECT_THAT(line(plan, Guarantee::kNetwork)->mechanism, HasSubstr("; gateway, 3 rules"));
  EXPECT_EQ(line(plan, Guarantee::kNetwork)->standing, Standing::kHeld);
  ASSERT_NE(line(plan, Guarantee::kGateway), nullptr);
}

TEST(PlanGateway, N8_LimitsOnTrafficAreAGuaranteeOfTheirOwn) {
  for (auto set : {+[](NetLimits& l) { l.bytes_in = Bytes{1}; }, +[](NetLimits& l) { l.bytes_out = Bytes{1}; },
                   +[](NetLimits& l) { l.connections = 1; }, +[](NetLimits& l) { l.rate = Bytes{1}; }}) {
    Policy policy = with_net();
    policy.net_limits = {};
    EXPECT_EQ(line(must_plan(policy), Guarantee::kTraffic), nullptr) << "nobody asked for it";
    set(policy.net_limits);
    const Plan plan = must_plan(policy);
    ASSERT_NE(line(plan, Guarantee::kTraffic), nullptr);
    EXPECT_EQ(line(plan, Guarantee::kTraffic)->standing, Standing::kHeld);
    EXPECT_THAT(line(plan, Guarantee::kTraffic)->mechanism, HasSubstr("gateway"));
  }
}

TEST(PlanFits, OnlyTheNativeNamespaceTierHasWorkspaces) {
  Policy bwrap;
  bwrap.workspace.path = {"/srv/project"};
  Policy process = bwrap;
  bwrap.backend = BackendChoice::kBwrap;
  process.tier = Tier::kProcess;
  process.trust = Trust::kMedium;
  for (const Policy& policy : {bwrap, process}) {
    EXPECT_THAT(refusal_of(policy), HasSubstr("workspace: backend '"));
    EXPECT_THAT(refusal_of(policy), HasSubstr("cannot keep a directory as it is"));
  }
}

TEST(PlanGateway, OnlyTheNativeNamespaceTierHasOne) {
  Policy bwrap = with_net();
  bwrap.backend = BackendChoice::kBwrap;
  Policy process = with_net();
  process.tier = Tier::kProcess;
  process.trust = Trust::kMedium;
  Policy none = process;
  none.backend = BackendChoice::kNone;
  none.development = true;
  none.weaken = {Weakening::kNoBackend};
  for (const Policy& policy : {bwrap, process, none}) {
    EXPECT_THAT(refusal_of(policy), HasSubstr("net.allow: backend '"));
    EXPECT_THAT(refusal_of(policy), HasSubstr("use tier = \"namespace\" with the native backend"));
  }
  Policy loopback;
  loopback.tier = Tier::kProcess;
  loopback.trust = Trust::kMedium;
  loopback.loopback = true;
  EXPECT_THAT(refusal_of(loopback), HasSubstr("no loopback of its own"));
}

TEST(PlanSockets, H4_StandInTheRootBeforeThePivot) {
  Policy policy;
  policy.sockets = {{"/run/*/s", Millis(7)}, {"~/t", {}}, {"/run/a/*", {}}};
  policy.socket_rules = {{"/run/b/s", {"x"}, {}}};
  const Plan plan = must_plan(
      policy,
      host_with({{"/run/*/s", {"/run/a/s", "/run/b/s"}}, {"/home/me/t", {"/home/me/t"}}, {"/run/a/*", {"/run/a/s"}}}));
  ASSERT_TRUE(plan.gateway);
  EXPECT_EQ(plan.gateway->sockets,
            (std::vector<PlannedSocket>{
                {"/run/a/s", {}, Millis(7)}, {"/run/b/s", policy.socket_rules[0], Millis(7)}, {"/home/me/t", {}, {}}}));
  std::vector<std::pair<std::string, std::uint64_t>> made;
  for (const Step& step : all(plan, StepKind::kListenUnix)) made.emplace_back(step.a, step.y);
  EXPECT_THAT(made, ElementsAre(Pair("run/a/s", 0), Pair("run/b/s", 1), Pair("home/me/t", 2)));
  EXPECT_LT(place(plan, StepKind::kListenUnix), place(plan, StepKind::kPivot));
  EXPECT_EQ(plan.gateway->proxy_port, 0);
  EXPECT_FALSE(plan.loopback) << "a socket is no network";
  EXPECT_THAT(all(plan, StepKind::kListen), IsEmpty());
}

TEST(PlanSockets, H4_RefusedWhereNoneIsFoundOrTooMany) {
  Policy policy;
  policy.sockets = {{"/run/*/s", {}}};
  EXPECT_THAT(refusal_of(policy), HasSubstr("sockets.allow: \"/run/*/s\" finds no socket"));
  EXPECT_THAT(refusal_of(policy, host_with({{"/run/*/s", {}}})), HasSubstr("finds no socket"));
  EXPECT_THAT(refusal_of(policy, host_with({{"/run/*/s", {"/run/a/s"}, true}})), HasSubstr("more than 64 sockets"));
  const std::string long_path = "/run/" + std::string(103, 'x');
  EXPECT_THAT(refusal_of(policy, host_with({{"/run/*/s", {long_path}}})), HasSubstr("108 bytes"));
  policy.socket_rules = {{"/run/*/s", {}, {}}, {"/run/a/s", {}, {}}};
  EXPECT_THAT(refusal_of(policy, host_with({{"/run/*/s", {"/run/a/s"}}})), HasSubstr("keep one rule for each socket"));
}

}  // namespace
}  // namespace cloche
