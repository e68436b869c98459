#include "proto/host_name.h"

#include <gtest/gtest.h>

namespace cloche::proto {
namespace {

std::string normal(std::string_view text) {
  const auto name = parse_host_name(text);
  return name ? name->text() : "refused";
}

TEST(HostName, HasOneForm) {
  EXPECT_EQ(normal("api.example.org"), "api.example.org");
  EXPECT_EQ(normal("API.Example.ORG"), "api.example.org");
  EXPECT_EQ(normal("api.example.org."), "api.example.org");
  EXPECT_EQ(normal("localhost"), "localhost");
  EXPECT_EQ(normal("LOCALHOST."), "localhost");
  EXPECT_EQ(normal("xn--bcher-kva.example"), "xn--bcher-kva.example");
  EXPECT_EQ(normal("XN--BCHER-KVA.example"), "xn--bcher-kva.example");
  EXPECT_EQ(normal("_dmarc.example.org"), "_dmarc.example.org");
  EXPECT_EQ(normal("r3---sn-4g5e6nz7.example"), "r3---sn-4g5e6nz7.example");
  EXPECT_EQ(normal("1password.com"), "1password.com");
  EXPECT_EQ(normal("1.2.3.4.in-addr.arpa"), "1.2.3.4.in-addr.arpa");
  EXPECT_EQ(normal("3com"), "3com");
  EXPECT_EQ(normal("0xg"), "0xg");
  EXPECT_EQ(normal("x0"), "x0");
}

TEST(HostName, AddressesOfAllShapesAreNone) {
  for (const std::string_view text : {"127.0.0.1",
                                      "127.1",
                                      "127.0.1",
                                      "2130706433",
                                      "017700000001",
                                      "0x7f000001",
                                      "0X7F.1",
                                      "0x7f.0x0.0x0.0x1",
                                      "0x7f.1",
                                      "0177.0.0.1",
                                      "127.0.0.1.",
                                      "1.2.3.4.5",
                                      "1.2.3.256",
                                      "example.1",
                                      "example.0x",
                                      "example.0X1F",
                                      "0x",
                                      "00",
                                      "::1",
                                      "[::1]",
                                      "::ffff:1.2.3.4",
                                      "[::ffff:1.2.3.4]",
                                      "fe80::1%eth0",
                                      "a:b",
                                      "example.org:443",
                                      "1e3.99"}) {
    EXPECT_EQ(normal(text), "refused") << text;
  }
}

TEST(HostName, DotsStandBetweenLabels) {
  for (const std::string_view text : {"", ".", "..", "a..b", ".a", "a..", "..a", "example.org.."}) {
    EXPECT_EQ(normal(text), "refused") << text;
  }
}

TEST(HostName, OtherBytesAreRefused) {
  using namespace std::string_view_literals;
  for (const std::string_view text : {"a b"sv,
                                      " a"sv,
                                      "a "sv,
                                      "a\n"sv,
                                      "a\0b"sv,
                                      "example.org\0.evil.org"sv,
                                      "b\xc3\xbc"
                                      "cher.example"sv,
                                      "a\xff"sv,
                                      "a/b"sv,
                                      "a@b"sv,
                                      "a\\b"sv,
                                      "a%2eb"sv,
                                      "*.a"sv,
                                      "a,b"sv,
                                      "a\xe3\x80\x82org"sv,
                                      "\xef\xbd\x81.org"sv,
                                      "a;b"sv,
                                      "a?b"sv,
                                      "a#b"sv,
                                      "a\x7f"sv}) {
    EXPECT_EQ(normal(text), "refused") << text;
  }
}

TEST(HostName, LengthsAreThoseOfDns) {
  const std::string label(63, 'a');
  EXPECT_EQ(normal(label), label);
  EXPECT_EQ(normal(label + "a"), "refused");
  const std::string longest = label + "." + label + "." + label + "." + std::string(61, 'b');
  ASSERT_EQ(longest.size(), 253u);
  EXPECT_EQ(normal(longest), longest);
  EXPECT_EQ(normal(longest + "."), longest);
  EXPECT_EQ(normal(longest + "b"), "refused");
  EXPECT_EQ(normal(std::string(1 << 20, 'a')), "refused");
}

TEST(HostName, RefusalSaysWhyAndShowsNoRawBytes) {
  const auto name = parse_host_name(
      "b\xc3\xbc"
      "cher\x1b.example");
  ASSERT_FALSE(name);
  EXPECT_EQ(name.error().text().find('\x1b'), std::string::npos);
  EXPECT_NE(name.error().text().find("xn--"), std::string::npos);
}

TEST(HostName, BelowMeansWholeLabels) {
  const HostName parent = *parse_host_name("example.org");
  EXPECT_TRUE(parse_host_name("a.example.org")->is_below(parent));
  EXPECT_TRUE(parse_host_name("a.b.example.org")->is_below(parent));
  EXPECT_FALSE(parse_host_name("example.org")->is_below(parent));
  EXPECT_FALSE(parse_host_name("badexample.org")->is_below(parent));
  EXPECT_FALSE(parse_host_name("example.org.evil.com")->is_below(parent));
  EXPECT_FALSE(parse_host_name("org")->is_below(parent));
}

}  // namespace
}  // namespace cloche::proto
