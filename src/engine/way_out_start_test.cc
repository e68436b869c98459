#include "engine/way_out_start.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/runtime_support.h"
#include "launch/gateway.h"

namespace cloche {
namespace {

PlannedGateway gateway() {
  PlannedGateway out;
  out.allow = {{"*.example.org:443", std::nullopt}, {"10.0.0.0/8:5432", Millis(600'000)}};
  out.deny = {"bad.example.org:443"};
  out.limits.bytes_out = Bytes{1024};
  out.limits.connections = 7;
  out.proxy_port = 3128;
  out.ports = {443, 5432};
  SecretGrant secret;
  secret.name = "API_KEY";
  secret.hosts = {"api.example.org:443"};
  secret.place = SecretGrant::Place::kHeader;
  secret.field = "Authorization";
  secret.source = SecretGrant::Source::kEnv;
  secret.from = "REAL";
  out.secrets = {secret};
  PlannedSocket plain;
  plain.path = "/run/plain.sock";
  PlannedSocket ruled;
  ruled.path = "/run/ruled.sock";
  ruled.rule = SocketRule{"/run/*.sock", {"log.*"}, {{"tenant", "a"}}};
  out.sockets = {plain, ruled};
  out.bundle = "/etc/cloche/ca.pem";
  return out;
}

TEST(WayOutStart, SettingsSayWhatThePlanSays) {
  const egress::Settings made = settings_for(gateway(), {"nameserver 10.0.0.1\n", "127.0.0.1 localhost\n", "PEM"});
  EXPECT_EQ(made.allow, (std::vector<egress::Rule>{{"*.example.org:443", {}}, {"10.0.0.0/8:5432", Millis(600'000)}}));
  EXPECT_EQ(made.deny, std::vector<std::string>{"bad.example.org:443"});
  EXPECT_EQ(made.limits.bytes_out, 1024u);
  EXPECT_EQ(made.limits.connections, 7u);
  EXPECT_FALSE(made.limits.bytes_in);
  EXPECT_EQ(made.proxy_port, 3128);
  EXPECT_TRUE(made.ends_tls);
  ASSERT_EQ(made.sockets.size(), 2u);
  EXPECT_FALSE(made.sockets[0].has_rules);
  EXPECT_TRUE(made.sockets[1].has_rules);
  EXPECT_EQ(made.sockets[1].methods, std::vector<std::string>{"log.*"});
  EXPECT_EQ(made.sockets[1].context.at("tenant"), "a");
  EXPECT_EQ(made.ca_bundle, "PEM");
  PlannedGateway without = gateway();
  without.secrets.clear();
  EXPECT_FALSE(settings_for(without, {}).ends_tls);
}

TEST(WayOutStart, TheGuestGetsPlaceholdersAndCertificatesAndNoValue) {
  Plan plan;
  plan.gateway = gateway();
  plan.env = {{"API_KEY", ""}, {"HOME", "/home/guest"}};
  plan.steps = {{.kind = wire::StepKind::kNewRoot, .x = 1000},
                {.kind = wire::StepKind::kFile, .a = "etc/cloche/ca.pem"},
                {.kind = wire::StepKind::kFile, .a = "etc/hosts", .data = "as it is"}};
  egress::Settings settings = settings_for(*plan.gateway, {{}, {}, "HOST CERTIFICATES"});
  egress::Secret secret;
  secret.name = "API_KEY";
  secret.placeholder = "sk-aaaaaaaaaaaaaaaa";
  secret.value = "sk-0123456789abcdef";
  settings.secrets = {secret};
  fill_in(plan, settings, "OWN CERTIFICATE\n");
  EXPECT_EQ(plan.env[0].second, secret.placeholder);
  EXPECT_EQ(plan.env[1].second, "/home/guest");
  EXPECT_EQ(plan.steps[1].data, "HOST CERTIFICATES\nOWN CERTIFICATE\n");
  EXPECT_EQ(plan.steps[2].data, "as it is");
  EXPECT_GT(plan.steps[0].x, 1000 + plan.steps[1].data.size());
  for (const Step& step : plan.steps) EXPECT_EQ(step.data.find(secret.value), std::string::npos);
}

HostFacts facts() {
  HostFacts out;
  out.init = support::kInitPath;
  out.uid = ::getuid();
  out.gid = ::getgid();
  return out;
}

TEST(WayOutStart, ASocketMustBeOneWhenTheRunStarts) {
  Plan plan;
  plan.gateway = PlannedGateway{};
  for (const char* path : {"/no/such/socket", "/dev/null", "/usr", "/proc/self/exe"}) {
    PlannedSocket socket;
    socket.path = path;
    plan.gateway->sockets = {socket};
    auto started = start_way_out(plan, facts(), {});
    ASSERT_FALSE(started) << path;
    EXPECT_EQ(started.error().code, ErrorCode::kRefused) << path;
    EXPECT_EQ(started.error().step, std::string("socket ") + path);
  }
}

TEST(GatewayStart, AProgramThatIsNoneIsAClearRefusal) {
  auto missing = start_gateway("/no/such/cloche-gateway", {}, {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kRefused);
  EXPECT_NE(missing.error().text().find("/no/such/cloche-gateway"), std::string::npos);
}

TEST(GatewayStart, AProgramThatEndsOrIsAnotherIsNoGateway) {
  const GatewayIdentity identity{::getuid() == 0, ::getuid(), ::getgid()};
  auto ended = start_gateway("/bin/true", identity, {});
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().step, "gateway");
}

}  // namespace
}  // namespace cloche
