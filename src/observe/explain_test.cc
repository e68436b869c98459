#include "observe/explain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "filter/filter.h"
#include "observe/advice.h"
#include "observe/below.h"
#include "observe/test_support.h"

namespace cloche::observe {
namespace {

TEST(Explain, X4_SocketsByPathAndByName) {
  const Host host = Host().has("/run/x.sock", {}, true, false, true).has("/run/file");
  const auto to = [](const std::string& what, Family family) {
    Sighting s = path(Use::kConnect, what);
    s.family = family;
    return s;
  };
  auto denials = explained(to("/run/x.sock", Family::kPath), host);
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].allow, "sockets.allow = [\"/run/x.sock\"]");
  for (const std::string own : {"/srv/me/cloche/keeper.sock", "/run/cloche/attendant"}) {
    denials = explained(to(own, Family::kPath), Host().has(own, {}, true, false, true));
    ASSERT_EQ(denials.size(), 1u);
    EXPECT_EQ(denials[0].allow, "");
    EXPECT_EQ(denials[0].never, "cloche itself listens there, and serves no guest");
  }
  for (const Plan& plan : {by_bwrap(), on_the_host()}) {
    denials = explained(to("/run/x.sock", Family::kPath), host, plan);
    ASSERT_EQ(denials.size(), 1u);
    EXPECT_EQ(denials[0].allow, "") << "which has no gateway";
    EXPECT_NE(denials[0].never.find("tier = \"namespace\" with the native backend"), std::string::npos);
  }
  EXPECT_TRUE(explained(to("/run/file", Family::kPath), host).empty()) << "nobody listens there";
  denials = explained(to("@bus", Family::kAbstract), host);
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_NE(denials[0].never, "");
  Sighting there = to("@00001", Family::kAbstract);
  there.presence = Presence::kThere;
  EXPECT_TRUE(explained(there, host).empty()) << "a socket of the cell, by a name that the kernel chose";
  Sighting own = to("@bus", Family::kAbstract);
  own.use = Use::kBind;
  EXPECT_TRUE(explain({to("@bus", Family::kAbstract), own}, sample(), host.look()).empty()) << "it listens itself";
}

TEST(Explain, X4_AddressesWithoutAGateway) {
  auto denials = explained(inet(Use::kConnect, "192.0.2.7:443"), Host());
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].allow, "net.allow = [\"192.0.2.7:443\"]");
  EXPECT_TRUE(explained(inet(Use::kConnect, "127.0.0.1:80"), Host()).empty()) << "the cell's own";
  Plan with_gateway = sample();
  with_gateway.gateway.emplace();
  EXPECT_FALSE(explained(inet(Use::kConnect, "192.0.2.7:443"), Host(), with_gateway).empty()) << "for sockets only";
  with_gateway.gateway->proxy_port = 3128;
  EXPECT_TRUE(explained(inet(Use::kConnect, "192.0.2.7:443"), Host(), with_gateway).empty()) << "in its own record";
  for (const char* at : {"127.0.0.1:80", "[::]:81", "192.0.2.1:8080"}) {
    EXPECT_TRUE(explained(inet(Use::kBind, at), Host(), with_gateway).empty()) << "every address and port is its own";
  }
  EXPECT_EQ(explained(inet(Use::kBind, "[2001:db8::1]:5000"), Host(), with_gateway).size(), 1u) << "but of IPv6";
  EXPECT_TRUE(explained(inet(Use::kBind, "[::1]:80"), Host(), with_gateway).empty());
  EXPECT_TRUE(explained(inet(Use::kBind, "[::ffff:192.0.2.1]:80"), Host(), with_gateway).empty());
  EXPECT_EQ(explained(inet(Use::kBind, "127.0.0.1:80"), Host()).size(), 1u);
  EXPECT_EQ(explained(inet(Use::kBind, "192.0.2.7:8080"), Host()).size(), 1u);
  EXPECT_TRUE(explained(inet(Use::kBind, "0.0.0.0:8080"), Host()).empty());
}

TEST(Explain, X4_CallsThatTheFilterRefused) {
  const auto rules = filter::rules(filter::native_arch(), {});
  const auto refused = [&](std::string_view name, std::array<std::uint64_t, 6> args, const Plan& plan = sample()) {
    Sighting s;
    s.refused = true;
    s.number = std::ranges::find(rules, name, &filter::Rule::name)->number;
    s.args = args;
    s.count = 1;
    return explained(s, Host(), plan).at(0);
  };
  EXPECT_NE(refused("socket", {2, 1, 0}).never.find("net.allow"), std::string::npos);
  EXPECT_NE(refused("socket", {2, 1, 0}).never.find("net.loopback = true"), std::string::npos);
  EXPECT_TRUE(refused("socket", {2, 1, 0}, on_the_host()).never.starts_with("tier \"process\" has no network"));
  EXPECT_TRUE(
      refused("socket", {2, 1, 0}, by_bwrap()).never.contains("net.loopback = true; with backend = \"native\""));
  EXPECT_NE(refused("socket", {2, 3, 0}).never.find("forge"), std::string::npos);
  EXPECT_EQ(refused("socket", {16, 3, 0}).what, "socket");
  EXPECT_EQ(refused("socket", {16, 3, 0}).detail, "AF_NETLINK, raw");
  for (const std::uint64_t family : {16, 29}) {
    EXPECT_NE(refused("socket", {family, 3, 0}).never.find("family"), std::string::npos) << "netlink, CAN";
  }
  EXPECT_EQ(refused("memfd_create", {}).allow, "files.exec_writable = true");
  const Denial mount = refused("mount", {});
  EXPECT_EQ(mount.what, "syscall");
  EXPECT_EQ(mount.detail, "mount");
  EXPECT_NE(mount.never, "");
}

TEST(Explain, X4_UnixSocketsOnTierProcess) {
  const auto rules = filter::rules(filter::native_arch(), {});
  Sighting s;
  s.refused = true;
  s.number = std::ranges::find(rules, "socket", &filter::Rule::name)->number;
  s.args = {1, 1, 0};
  Plan plan = sample();
  plan.tier = Tier::kProcess;
  EXPECT_EQ(explained(s, Host(), plan).at(0).allow, "") << "in a cell that is granted files there are none either";
  plan.grants.clear();
  EXPECT_EQ(explained(s, Host(), plan).at(0).allow, "tier = \"namespace\"");
}

TEST(Explain, TheSameIsCountedOnceAndTheListIsBounded) {
  Host host;
  std::vector<Sighting> many;
  for (std::size_t i = 0; i < kMostDenials + 10; ++i) {
    const std::string name = "/home/me/f" + std::to_string(i);
    host.has(name);
    many.push_back(path(Use::kOpen, name));
    many.push_back(path(Use::kLook, name));
  }
  const auto denials = explain(many, sample(), host.look());
  ASSERT_EQ(denials.size(), kMostDenials + 1);
  EXPECT_EQ(denials[0].count, 4u) << "opened and looked at";
  EXPECT_EQ(denials.back().what, "more");
  EXPECT_EQ(denials.back().count, 40u);
}

TEST(Explain, X4_ProgramsAreNamedUpToAFew) {
  std::string programs;
  for (const char* name : {"a", "", "b", "a", "c", "b, d", "e", "f"}) add_programs(programs, name);
  EXPECT_EQ(programs, "a, b, c, d, …");
}

TEST(Explain, X4_TheMostTellingIsLookedForFirst) {
  Host host;
  std::vector<Sighting> many;
  for (int i = 0; i < 20; ++i) {
    host.has("/home/me/f" + std::to_string(i));
    many.push_back(path(i % 2 == 0 ? Use::kLook : Use::kOpen, "/home/me/f" + std::to_string(i)));
  }
  many.push_back(path(Use::kExecute, "/home/me/f0"));
  many.push_back(path(Use::kOpen, "/home/me/f1", Presence::kMissing, true));
  int left = 4;
  const auto denials = explain(many, sample(), [&](const std::string& name, Right right) {
    return left-- > 0 ? host.look()(name, right) : std::nullopt;
  });
  ASSERT_GE(denials.size(), 2u);
  EXPECT_TRUE(std::ranges::any_of(denials, [](const Denial& d) { return d.what == "exec"; }));
  EXPECT_TRUE(std::ranges::any_of(denials, [](const Denial& d) { return d.what == "write"; }));
}

TEST(Explain, X4_TheFirstAndTheLastAreKept) {
  Host host;
  std::vector<Sighting> many;
  for (std::size_t i = 0; i < 2 * kMostDenials; ++i) {
    host.has("/home/me/f" + std::to_string(i));
    many.push_back(path(Use::kOpen, "/home/me/f" + std::to_string(i)));
  }
  const auto denials = explain(many, sample(), host.look());
  ASSERT_EQ(denials.size(), kMostDenials + 1);
  EXPECT_EQ(denials[0].detail, "/home/me/f511");
  EXPECT_EQ(denials[kMostDenials - 1].detail, "/home/me/f0");
}

TEST(Explain, X4_SocketsThatAreBoundOnTheHost) {
  Sighting s = path(Use::kBind, "/home/me/s");
  s.family = Family::kPath;
  const auto denials = explained(s, Host().has("/home/me", {}, true, true).has("/home", {}, true, true));
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].allow, "") << "where files of the host are granted there are no such sockets";
  EXPECT_NE(denials[0].never.find("/tmp"), std::string::npos);
}

TEST(Explain, X4_DatagramsDoNotLeave) {
  Sighting s = inet(Use::kConnect, "192.0.2.7:53");
  s.datagram = true;
  const auto denials = explained(s, Host());
  ASSERT_EQ(denials.size(), 1u);
  EXPECT_EQ(denials[0].allow, "");
  EXPECT_NE(denials[0].never.find("datagrams"), std::string::npos);
}

TEST(Explain, X4_WhatTheGatewayRefused) {
  NetworkUse use;
  Connection c;
  c.name = "evil.example";
  c.port = 443;
  c.verdict = Verdict::kDenied;
  c.reason = "evil.example:443 is not in net.allow";
  c.count = 3;
  use.connections.push_back(c);
  c.reason = "evil.example:443 is denied by net.deny \"*.example:443\"";
  c.name = "also.example";
  use.connections.push_back(c);
  const auto denials = explain_network(use, "sh, curl");
  ASSERT_EQ(denials.size(), 2u);
  EXPECT_EQ(denials[0].allow, "net.allow = [\"evil.example:443\"]");
  EXPECT_EQ(denials[0].count, 3u);
  EXPECT_EQ(denials[0].program, "sh or curl");
  EXPECT_EQ(denials[1].allow, "");
  EXPECT_NE(denials[1].never.find("net.deny"), std::string::npos);
  EXPECT_EQ(explain_network(use, "curl")[0].program, "curl");
  EXPECT_EQ(explain_network(use, "")[0].program, "");
}

TEST(Explain, X4_LimitsOfTheNetworkAreRaisedByTheirKeys) {
  Plan plan = sample();
  EXPECT_EQ(raised_limit(plan, "net.limits.connections"), "");
  plan.gateway.emplace();
  plan.gateway->limits = {Bytes{1 << 20}, Bytes{1 << 10}, 5, {}};
  EXPECT_EQ(raised_limit(plan, "net.limits.bytes_in"), "net.limits.bytes_in = \"2M\"");
  EXPECT_EQ(raised_limit(plan, "net.limits.bytes_out"), "net.limits.bytes_out = \"2K\"");
  EXPECT_EQ(raised_limit(plan, "net.limits.connections"), "net.limits.connections = 10");
}

// A guest chooses the name of a method; what allows it must allow no other.
TEST(Explain, X4_AMethodIsAdvisedByItsNameAlone) {
  Call call;
  call.socket = "/run/s";
  call.verdict = Verdict::kDenied;
  call.reason = "the policy of this run does not allow the method get";
  call.method = "get";
  EXPECT_EQ(advise_method(call).allow, R"(sockets.rules = [{ path = "/run/s", methods = ["get"] }])");
  for (const char* method : {"*", "get.*", R"(a\x0ab)", "aaaaaaaa..."}) {
    call.method = method;
    EXPECT_EQ(advise_method(call).allow, "") << method;
    EXPECT_NE(advise_method(call).never, "") << method;
  }
}

TEST(Explain, X4_ACeilingMayForbidTheLine) {
  const auto ceiling = parse_ceiling("version = 1\n[files]\nread = [\"/srv\"]\n", "ceiling.toml");
  ASSERT_TRUE(ceiling.has_value()) << ceiling.error().text();
  std::vector<Denial> denials = {{"read", "/srv/x", 1, "", "files.read = [\"/srv/x\"]", ""},
                                 {"read", "/home/x", 1, "", "files.read = [\"/home/x\"]", ""}};
  keep_below(denials, {*ceiling});
  EXPECT_NE(denials[0].allow, "");
  EXPECT_EQ(denials[1].allow, "");
  EXPECT_NE(denials[1].never.find("ceiling"), std::string::npos);
}

TEST(Sightings, PathsAreMadeAbsoluteByTheirWords) {
  EXPECT_EQ(absolute("/work", "a/../b"), "/work/b");
  EXPECT_EQ(absolute("/work", "../../../etc"), "/etc");
  EXPECT_EQ(absolute("/work", "/a//./b/"), "/a/b");
  EXPECT_EQ(absolute("/", ".."), "/");
}

TEST(Explain, X4_EachKindOfDenialKeepsItsShare) {
  Host host;
  std::vector<Sighting> seen;
  for (std::size_t i = 0; i < 4 * kMostDenials; ++i) {
    const std::string name = "/srv/data/f" + std::to_string(i);
    host.has(name);
    seen.push_back(path(Use::kOpen, name));
    if (i == 2 * kMostDenials) {
      host.has("/srv/data/written").has("/srv/data/run");
      seen.push_back(path(Use::kOpen, "/srv/data/written", Presence::kMissing, true));
      seen.push_back(path(Use::kExecute, "/srv/data/run"));
      seen.push_back(inet(Use::kConnect, "192.0.2.7:443"));
    }
  }
  const auto denials = explain(seen, sample(), host.look());
  ASSERT_EQ(denials.size(), kMostDenials + 1);
  for (const char* what : {"write", "exec", "connect"}) {
    EXPECT_EQ(std::ranges::count(denials, what, &Denial::what), 1) << what;
  }
  EXPECT_EQ(denials.back().what, "more");
  EXPECT_EQ(denials.back().count, 2 * (3 * kMostDenials + 3));
}

}  // namespace
}  // namespace cloche::observe
