#include "proto/net_rule.h"

#include <utility>

#include <gtest/gtest.h>

namespace cloche::proto {
namespace {

NetRule rule(std::string_view text) { return parse_net_rule(text).value(); }
HostName name(std::string_view text) { return parse_host_name(text).value(); }
IpAddress ip(std::string_view text) { return parse_ip(text).value(); }

TEST(NetRule, PrintsInOneForm) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"api.example.org:443", "api.example.org:443"},
      {"API.Example.Org.:443", "api.example.org:443"},
      {"*.pypi.example:443", "*.pypi.example:443"},
      {"*.PyPI.example.:443", "*.pypi.example:443"},
      {"10.1.2.0/24:5432", "10.1.2.0/24:5432"},
      {"1.2.3.4:80", "1.2.3.4:80"},
      {"1.2.3.4/32:80", "1.2.3.4:80"},
      {"[2001:DB8:0::1]:80", "[2001:db8::1]:80"},
      {"[fd00::/8]:80", "[fd00::/8]:80"},
      {"localhost:8000-8010", "localhost:8000-8010"},
      {"localhost:8000-8000", "localhost:8000"},
      {"0.0.0.0/0:1-65535", "0.0.0.0/0:1-65535"},
      {"[::/0]:1-65535", "[::/0]:1-65535"},
  };
  for (const auto& [text, normal] : rows) {
    ASSERT_TRUE(parse_net_rule(text)) << text << ": " << parse_net_rule(text).error().text();
    EXPECT_EQ(rule(text).text(), normal);
    EXPECT_EQ(rule(rule(text).text()), rule(text));
  }
}

TEST(NetRule, WrongOnesSayWhatToWrite) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"", "example.org:443"},
      {"example.org", "example.org:443"},
      {":443", "in front of the colon"},
      {"example.org:", "1 to 65535"},
      {"example.org:0", "1 to 65535"},
      {"example.org:65536", "1 to 65535"},
      {"example.org:0443", "1 to 65535"},
      {"example.org:+443", "1 to 65535"},
      {"example.org:443 ", "1 to 65535"},
      {"example.org:https", "1 to 65535"},
      {"example.org:80-", "1 to 65535"},
      {"example.org:-80", "1 to 65535"},
      {"example.org:1-2-3", "1 to 65535"},
      {"example.org:90-80", "80-90"},
      {"example.org:*", "1-65535"},
      {"https://example.org:443", "example.org:443"},
      {"example.org:443/path", "1 to 65535"},
      {"*:443", "*.example.org:443"},
      {"*.*.example.org:443", "*.example.org:443"},
      {"a*.example.org:443", "*.example.org:443"},
      {"a.*.example.org:443", "*.example.org:443"},
      {"*example.org:443", "*.example.org:443"},
      {"*.:443", "empty"},
      {"*.1.2.3.4:443", "address"},
      {"2001:db8::1:443", "[2001:db8::1]:443"},
      {"::1:443", "[2001:db8::1]:443"},
      {"[2001:db8::1]", "[2001:db8::1]:443"},
      {"[2001:db8::1:443", "[2001:db8::1]:443"},
      {"[2001:db8::1]443", "[2001:db8::1]:443"},
      {"[fe80::1%eth0]:443", "zone"},
      {"[1.2.3.4]:443", "1.2.3.4:443"},
      {"[::ffff:1.2.3.4]:443", "1.2.3.4:443"},
      {"[::ffff:10.0.0.0/104]:443", "10.0.0.0/8:443"},
      {"[example.org]:443", "IP address"},
      {"10.1.2.3/24:443", "10.1.2.0/24"},
      {"10.0.0.0/33:443", "0 to 32"},
      {"127.1:443", "address"},
      {"0x7f.1:443", "address"},
      {"b\xc3\xbc"
       "cher.example:443",
       "xn--"},
      {"user@example.org:443", "letters, digits"},
      {"exa\x1bmple.org:443", "letters, digits"},
  };
  for (const auto& [text, advice] : rows) {
    const auto parsed = parse_net_rule(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().text().find(advice), std::string::npos) << text << " -> " << parsed.error().text();
    EXPECT_EQ(parsed.error().text().find('\x1b'), std::string::npos);
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidInput);
  }
}

TEST(NetRule, NamesMatchWholeLabelsOnly) {
  EXPECT_TRUE(rule("example.org:443").matches(name("EXAMPLE.org."), 443));
  EXPECT_FALSE(rule("example.org:443").matches(name("example.org"), 80));
  EXPECT_FALSE(rule("example.org:443").matches(name("www.example.org"), 443));
  EXPECT_TRUE(rule("*.example.org:443").matches(name("www.example.org"), 443));
  EXPECT_TRUE(rule("*.example.org:443").matches(name("a.b.example.org"), 443));
  EXPECT_FALSE(rule("*.example.org:443").matches(name("example.org"), 443));
  EXPECT_FALSE(rule("*.example.org:443").matches(name("evilexample.org"), 443));
  EXPECT_FALSE(rule("*.example.org:443").matches(name("www.example.org.evil.com"), 443));
  EXPECT_FALSE(rule("1.2.3.4:443").matches(name("example.org"), 443));
}

TEST(NetRule, PortsIncludeBothEnds) {
  const NetRule range = rule("localhost:8000-8010");
  EXPECT_FALSE(range.matches(name("localhost"), 7999));
  EXPECT_TRUE(range.matches(name("localhost"), 8000));
  EXPECT_TRUE(range.matches(name("localhost"), 8010));
  EXPECT_FALSE(range.matches(name("localhost"), 8011));
}

TEST(NetRule, AddressesMatchByValue) {
  EXPECT_TRUE(rule("10.1.2.0/24:5432").matches(ip("10.1.2.255"), 5432));
  EXPECT_TRUE(rule("10.1.2.0/24:5432").matches(ip("::ffff:10.1.2.255"), 5432));
  EXPECT_FALSE(rule("10.1.2.0/24:5432").matches(ip("10.1.3.0"), 5432));
  EXPECT_FALSE(rule("10.1.2.0/24:5432").matches(ip("10.1.2.1"), 5433));
  EXPECT_FALSE(rule("10.1.2.0/24:5432").matches(ip("64:ff9b::10.1.2.1"), 5432));
  EXPECT_TRUE(rule("[2001:db8::1]:80").matches(ip("2001:db8::1"), 80));
  EXPECT_FALSE(rule("[::/0]:80").matches(ip("1.2.3.4"), 80));
  EXPECT_FALSE(rule("[::/0]:80").matches(ip("::ffff:1.2.3.4"), 80));
  EXPECT_FALSE(rule("localhost:80").matches(ip("127.0.0.1"), 80));
}

}  // namespace
}  // namespace cloche::proto
