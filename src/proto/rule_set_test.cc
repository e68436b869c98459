#include "proto/rule_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::proto {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

HostName name(std::string_view text) { return parse_host_name(text).value(); }
IpAddress ip(std::string_view text) { return parse_ip(text).value(); }

RuleSet rules(const std::vector<std::string>& allow, const std::vector<std::string>& deny = {}) {
  return parse_rule_set(allow, deny).value();
}

TEST(RuleSet, WhatIsNotAllowedIsDenied) {
  EXPECT_FALSE(RuleSet{}.decide_name(name("example.org"), 443).allowed());
  EXPECT_FALSE(RuleSet{}.decide_address(ip("8.8.8.8"), 443).allowed());
  EXPECT_FALSE(RuleSet{}.decide_lookup(name("example.org")).allowed());
  EXPECT_FALSE(RuleSet{}.decide_resolved(name("example.org"), ip("8.8.8.8"), 443).allowed());
  EXPECT_EQ(RuleSet{}.decide_name(name("example.org"), 443).reason, "example.org:443 is not in net.allow");
  EXPECT_EQ(RuleSet{}.decide_address(ip("::ffff:8.8.8.8"), 443).reason, "8.8.8.8:443 is not in net.allow");
  EXPECT_EQ(RuleSet{}.decide_address(ip("2001:db8::1"), 443).reason, "[2001:db8::1]:443 is not in net.allow");
}

TEST(RuleSet, TellsTheRuleThatDecided) {
  const RuleSet set = rules({"a.example:1", "*.example:443"}, {"bad.example:1-65535"});
  EXPECT_EQ(set.decide_name(name("www.example"), 443), (Decision{Verdict::kAllowed, "*.example:443", ""}));
  EXPECT_EQ(set.decide_name(name("bad.example"), 443).rule, "bad.example:1-65535");
  EXPECT_THAT(set.decide_name(name("bad.example"), 443).reason, HasSubstr("net.deny \"bad.example:1-65535\""));
}

TEST(RuleSet, DenyWins) {
  const RuleSet set = rules({"a.example:443", "10.0.0.0/8:80"}, {"*.example:443", "10.1.0.0/16:80"});
  EXPECT_FALSE(set.decide_name(name("a.example"), 443).allowed());
  EXPECT_TRUE(set.decide_address(ip("10.2.0.1"), 80).allowed());
  EXPECT_FALSE(set.decide_address(ip("10.1.0.1"), 80).allowed());
  EXPECT_FALSE(set.decide_address(ip("::ffff:10.1.0.1"), 80).allowed());
}

TEST(RuleSet, MappedAddressesAreTheAddressesThatTheyMap) {
  const RuleSet set = rules({"10.0.0.1:80", "[::/0]:81"});
  EXPECT_TRUE(set.decide_address(ip("::ffff:10.0.0.1"), 80).allowed());
  EXPECT_FALSE(set.decide_address(ip("::ffff:10.0.0.1"), 81).allowed());
}

TEST(RuleSet, DeniedRangesAreNotReachedThroughAnotherFamily) {
  const RuleSet set = rules({"[::/0]:80"}, {"10.0.0.0/8:80"});
  EXPECT_TRUE(set.decide_address(ip("64:ff9b::8.8.8.8"), 80).allowed());
  for (const std::string_view text : {"64:ff9b::10.0.0.1", "2002:a00:1::1", "::10.0.0.1", "::ffff:0:10.0.0.1"}) {
    EXPECT_FALSE(set.decide_address(ip(text), 80).allowed()) << text;
  }
  EXPECT_FALSE(rules({"10.0.0.1:80"}).decide_address(ip("64:ff9b::10.0.0.1"), 80).allowed());
}

TEST(RuleSet, NamesDoNotLeadInside) {
  const RuleSet set = rules({"a.example:443"});
  EXPECT_TRUE(set.decide_resolved(name("a.example"), ip("93.184.216.34"), 443).allowed());
  EXPECT_TRUE(set.decide_resolved(name("a.example"), ip("2606:4700::1"), 443).allowed());
  for (const std::string_view text :
       {"127.0.0.1", "10.0.0.1", "192.168.0.1", "169.254.169.254", "168.63.129.16", "0.0.0.0", "224.0.0.1",
        "198.18.0.1", "::1", "::", "fe80::1", "fd00::1", "::ffff:127.0.0.1", "64:ff9b::127.0.0.1",
        "2002:7f00:1::", "ff02::1", "fd63:6c6f:6368:6500::1"}) {
    const Decision decision = set.decide_resolved(name("a.example"), ip(text), 443);
    EXPECT_FALSE(decision.allowed()) << text;
    EXPECT_THAT(decision.reason, HasSubstr("which a.example resolves to")) << text;
  }
  EXPECT_EQ(
      set.decide_resolved(name("a.example"), ip("169.254.169.254"), 443).reason,
      "169.254.169.254:443, which a.example resolves to, is a cloud's metadata address that net.allow does not name");
}

TEST(RuleSet, NamesLeadInsideWhereTheAddressIsGranted) {
  const RuleSet set = rules({"a.example:443", "10.0.0.0/24:443", "10.0.1.0/24:80"});
  EXPECT_TRUE(set.decide_resolved(name("a.example"), ip("10.0.0.1"), 443).allowed());
  EXPECT_EQ(set.decide_resolved(name("a.example"), ip("10.0.0.1"), 443).rule, "a.example:443");
  EXPECT_FALSE(set.decide_resolved(name("a.example"), ip("10.0.1.1"), 443).allowed());
  EXPECT_FALSE(set.decide_resolved(name("b.example"), ip("10.0.0.1"), 443).allowed());
}

TEST(RuleSet, DeniedAddressesHoldForNames) {
  const RuleSet set = rules({"a.example:443"}, {"93.184.0.0/16:443"});
  EXPECT_TRUE(set.decide_name(name("a.example"), 443).allowed());
  EXPECT_EQ(set.decide_resolved(name("a.example"), ip("93.184.216.34"), 443).rule, "93.184.0.0/16:443");
  EXPECT_FALSE(set.decide_resolved(name("a.example"), ip("64:ff9b::93.184.216.34"), 443).allowed());
  EXPECT_TRUE(set.decide_resolved(name("a.example"), ip("8.8.8.8"), 443).allowed());
}

TEST(RuleSet, LocalhostIsLoopbackAndNothingElse) {
  const RuleSet set = rules({"localhost:8000", "a.localhost:8000"});
  EXPECT_TRUE(set.decide_resolved(name("localhost"), ip("127.0.0.1"), 8000).allowed());
  EXPECT_TRUE(set.decide_resolved(name("LOCALHOST."), ip("::1"), 8000).allowed());
  EXPECT_FALSE(set.decide_resolved(name("localhost"), ip("8.8.8.8"), 8000).allowed());
  EXPECT_FALSE(set.decide_resolved(name("localhost"), ip("10.0.0.1"), 8000).allowed());
  EXPECT_FALSE(set.decide_resolved(name("a.localhost"), ip("127.0.0.1"), 8000).allowed());
  EXPECT_FALSE(rules({"localhost:8000"}, {"127.0.0.0/8:8000"})
                   .decide_resolved(name("localhost"), ip("127.0.0.1"), 8000)
                   .allowed());
}

TEST(RuleSet, ADeniedLocalhostIsDeniedByItsAddressesToo) {
  const RuleSet set = rules({"0.0.0.0/0:80", "[::/0]:80", "localhost:80", "a.example:80"}, {"localhost:80"});
  for (const std::string_view text :
       {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "64:ff9b::127.0.0.1", "::127.0.0.1"}) {
    EXPECT_EQ(set.decide_address(ip(text), 80).rule, "localhost:80") << text;
    EXPECT_FALSE(set.decide_resolved(name("a.example"), ip(text), 80).allowed()) << text;
  }
  EXPECT_FALSE(set.decide_resolved(name("localhost"), ip("127.0.0.1"), 80).allowed());
  EXPECT_TRUE(set.decide_address(ip("10.0.0.1"), 80).allowed());
  EXPECT_TRUE(rules({"127.0.0.1:80"}, {"localhost:81"}).decide_address(ip("127.0.0.1"), 80).allowed());
}

// Linux takes it for its own loopback, whatever net.deny says of that.
TEST(RuleSet, TheAddressOfNoHostIsNeverReached) {
  const RuleSet set = rules({"0.0.0.0/0:80", "0.0.0.0:80", "[::/0]:80", "[::]:80", "a.example:80", "localhost:80"});
  for (const std::string_view text :
       {"0.0.0.0", "::", "::ffff:0.0.0.0", "::ffff:0:0.0.0.0", "64:ff9b::0.0.0.0", "2002::"}) {
    EXPECT_FALSE(set.decide_address(ip(text), 80).allowed()) << text;
    EXPECT_THAT(set.decide_address(ip(text), 80).reason, HasSubstr("is the address of no host")) << text;
    EXPECT_FALSE(set.decide_resolved(name("a.example"), ip(text), 80).allowed()) << text;
    EXPECT_FALSE(set.decide_resolved(name("localhost"), ip(text), 80).allowed()) << text;
  }
  EXPECT_TRUE(set.decide_address(ip("0.0.0.1"), 80).allowed());
}

TEST(RuleSet, NameIsLookedUpIfSomePortIsOpen) {
  EXPECT_TRUE(rules({"a.example:443"}).decide_lookup(name("A.example.")).allowed());
  EXPECT_TRUE(rules({"*.example:443"}).decide_lookup(name("b.a.example")).allowed());
  EXPECT_FALSE(rules({"*.example:443"}).decide_lookup(name("example")).allowed());
  EXPECT_FALSE(rules({"a.example:443"}, {"a.example:443"}).decide_lookup(name("a.example")).allowed());
  EXPECT_TRUE(rules({"a.example:443"}, {"a.example:80"}).decide_lookup(name("a.example")).allowed());
  EXPECT_TRUE(rules({"a.example:80-90"}, {"a.example:80-89"}).decide_lookup(name("a.example")).allowed());
  EXPECT_FALSE(
      rules({"a.example:80-90"}, {"a.example:80-85", "*.example:86-90"}).decide_lookup(name("a.example")).allowed());
  EXPECT_TRUE(
      rules({"a.example:80-90"}, {"a.example:80-85", "*.example:87-90"}).decide_lookup(name("a.example")).allowed());
  EXPECT_FALSE(rules({"a.example:1-65535"}, {"a.example:1-65535"}).decide_lookup(name("a.example")).allowed());
  EXPECT_FALSE(rules({"8.8.8.8:443"}).decide_lookup(name("a.example")).allowed());
}

TEST(RuleSet, PortsAreEachListedOnceAndBounded) {
  const RuleSet set = rules({"a.example:443", "b.example:440-443", "1.2.3.4:80"});
  EXPECT_THAT(set.ports(5).value(), ElementsAre(80, 440, 441, 442, 443));
  EXPECT_FALSE(set.ports(4));
  EXPECT_FALSE(rules({"a.example:1-65535"}).ports(128));
  EXPECT_EQ(rules({"a.example:1-65535"}).ports(65535)->size(), 65535u);
  EXPECT_THAT(rules({"a.example:10-14", "b.example:11-12", "c.example:13-15"}).ports(6).value(),
              ElementsAre(10, 11, 12, 13, 14, 15));
  EXPECT_TRUE(rules({}).ports(0).value().empty());
}

TEST(RuleSet, WrongRuleIsNamedByItsPlace) {
  EXPECT_EQ(parse_rule_set({"a.example:1", "b"}, {}).error().step, "net.allow[1]");
  EXPECT_EQ(parse_rule_set({"a.example:1"}, {"b"}).error().step, "net.deny[0]");
}

}  // namespace
}  // namespace cloche::proto
