#include "proto/ip_address.h"

#include <netinet/in.h>

#include <cstring>

#include <gtest/gtest.h>

namespace cloche::proto {
namespace {

std::string normal(std::string_view text) {
  const auto address = parse_ip(text);
  return address ? address->text() : "refused";
}

IpAddress ip(std::string_view text) { return parse_ip(text).value(); }

TEST(IpAddress, HasOneText) {
  EXPECT_EQ(normal("1.2.3.4"), "1.2.3.4");
  EXPECT_EQ(normal("0.0.0.0"), "0.0.0.0");
  EXPECT_EQ(normal("255.255.255.255"), "255.255.255.255");
  EXPECT_EQ(normal("::"), "::");
  EXPECT_EQ(normal("::1"), "::1");
  EXPECT_EQ(normal("1::"), "1::");
  EXPECT_EQ(normal("2001:DB8:0:0:0:0:0:1"), "2001:db8::1");
  EXPECT_EQ(normal("2001:0db8:0000:0001:0000:0000:0000:0001"), "2001:db8:0:1::1");
  EXPECT_EQ(normal("2001:db8:0:1:1:1:1:1"), "2001:db8:0:1:1:1:1:1");  // one zero group is not shortened
  EXPECT_EQ(normal("2001:db8::1:1:1:1:1"), "2001:db8:0:1:1:1:1:1");
  EXPECT_EQ(normal("2001:0:0:1:0:0:0:1"), "2001:0:0:1::1");        // the longer run
  EXPECT_EQ(normal("2001:db8:0:0:1:0:0:1"), "2001:db8::1:0:0:1");  // the first of equals
  EXPECT_EQ(normal("1:2:3:4:5:6:0:0"), "1:2:3:4:5:6::");
  EXPECT_EQ(normal("::ffff:1.2.3.4"), "::ffff:1.2.3.4");
  EXPECT_EQ(normal("::FFFF:102:304"), "::ffff:1.2.3.4");
  EXPECT_EQ(normal("64:ff9b::1.2.3.4"), "64:ff9b::102:304");
}

TEST(IpAddress, OddShapesAreRefused) {
  using namespace std::string_view_literals;
  for (const std::string_view text : {""sv,
                                      "1.2.3"sv,
                                      "127.1"sv,
                                      "1"sv,
                                      "01.2.3.4"sv,
                                      "1.2.3.04"sv,
                                      "0x1.2.3.4"sv,
                                      "1.2.3.4."sv,
                                      ".1.2.3.4"sv,
                                      "1.2.3.256"sv,
                                      "1.2.3.4 "sv,
                                      " 1.2.3.4"sv,
                                      "1.2.3.4\0"sv,
                                      "1.2.3.4\0x"sv,
                                      "1.2.3.4/8"sv,
                                      "1.2.3.+4"sv,
                                      "fe80::1%eth0"sv,
                                      "fe80::1%1"sv,
                                      "[::1]"sv,
                                      ":::"sv,
                                      "1::2::3"sv,
                                      "1:2:3:4:5:6:7"sv,
                                      "1:2:3:4:5:6:7:8:9"sv,
                                      "12345::"sv,
                                      "g::"sv,
                                      "::1.2.3"sv,
                                      "::01.2.3.4"sv,
                                      "1.2.3.4::"sv,
                                      "1:2:3:4:5:6:7:8::"sv,
                                      ":1:2:3:4:5:6:7"sv,
                                      "1::2:3:4:5:6:7:8"sv,
                                      "\xef\xbc\x91.2.3.4"sv}) {
    EXPECT_EQ(normal(text), "refused") << text;
  }
  EXPECT_EQ(normal(std::string(1 << 20, '1')), "refused");
}

TEST(IpAddress, FindsTheV4Inside) {
  const IpAddress inside = ip("10.1.2.3");
  for (const std::string_view text : {"::ffff:10.1.2.3", "::10.1.2.3", "::ffff:0:10.1.2.3", "64:ff9b::10.1.2.3",
                                      "2002:a01:203::", "2002:a01:203:5::9", "2001:0:102:304:0:0:f5fe:fdfc",
                                      "2001:db8::5efe:10.1.2.3", "2001:db8::200:5efe:10.1.2.3"}) {
    EXPECT_EQ(ip(text).unmapped(), inside) << text;
  }
  for (const std::string_view text : {"::", "::1", "2001:db8::a01:203", "fe80::1", "1.2.3.4", "64:ff9b:1::a01:203"}) {
    EXPECT_EQ(ip(text).unmapped(), ip(text)) << text;
    EXPECT_FALSE(ip(text).embedded_v4()) << text;
  }
  EXPECT_EQ(ip("::ffff:10.1.2.3").canonical(), inside);
  EXPECT_EQ(ip("64:ff9b::10.1.2.3").canonical(), ip("64:ff9b::10.1.2.3"));
  EXPECT_EQ(inside.canonical(), inside);
}

TEST(IpAddress, FamiliesAreNeverEqual) {
  EXPECT_NE(ip("0.0.0.0"), ip("::"));
  EXPECT_NE(ip("1.2.3.4"), ip("102:304::"));
  EXPECT_EQ(IpAddress(), ip("0.0.0.0"));
}

TEST(IpAddress, GoesThroughSockets) {
  for (const std::string_view text : {"1.2.3.4", "2001:db8::1", "::ffff:1.2.3.4"}) {
    const SocketAddress there = to_sockaddr(ip(text), 443);
    const auto back = from_sockaddr(there.get(), there.size);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->address, ip(text));
    EXPECT_EQ(back->port, 443);
    EXPECT_FALSE(from_sockaddr(there.get(), there.size - 1));
    EXPECT_FALSE(from_sockaddr(there.get(), 1));
  }
  sockaddr_storage other{};
  other.ss_family = AF_UNIX;
  EXPECT_FALSE(from_sockaddr(reinterpret_cast<const sockaddr*>(&other), sizeof other));
  EXPECT_FALSE(from_sockaddr(nullptr, 0));
}

TEST(IpRange, HoldsWhatBeginsTheSame) {
  const IpRange range = parse_ip_range("10.1.2.0/23").value();
  EXPECT_TRUE(range.contains(ip("10.1.2.0")));
  EXPECT_TRUE(range.contains(ip("10.1.3.255")));
  EXPECT_FALSE(range.contains(ip("10.1.4.0")));
  EXPECT_FALSE(range.contains(ip("10.1.1.255")));
  EXPECT_TRUE(parse_ip_range("0.0.0.0/0")->contains(ip("255.255.255.255")));
  EXPECT_FALSE(parse_ip_range("0.0.0.0/0")->contains(ip("::")));
  EXPECT_FALSE(parse_ip_range("::/0")->contains(ip("0.0.0.0")));
  EXPECT_TRUE(parse_ip_range("fd00::/8")->contains(ip("fdff::1")));
  EXPECT_FALSE(parse_ip_range("fd00::/8")->contains(ip("fc00::1")));
  EXPECT_TRUE(parse_ip_range("1.2.3.4/32")->contains(ip("1.2.3.4")));
  EXPECT_FALSE(parse_ip_range("1.2.3.4/32")->contains(ip("1.2.3.5")));
  EXPECT_TRUE(parse_ip_range("2001:db8::/127")->contains(ip("2001:db8::1")));
  EXPECT_FALSE(parse_ip_range("2001:db8::/127")->contains(ip("2001:db8::2")));
}

TEST(IpRange, PrintsAsItIsRead) {
  EXPECT_EQ(parse_ip_range("10.0.0.0/8")->text(), "10.0.0.0/8");
  EXPECT_EQ(parse_ip_range("fd00:0::/8")->text(), "fd00::/8");
  EXPECT_EQ(parse_ip_range("1.2.3.4")->text(), "1.2.3.4");
  EXPECT_EQ(parse_ip_range("1.2.3.4/32")->text(), "1.2.3.4");
  EXPECT_EQ(parse_ip_range("::/0")->text(), "::/0");
}

TEST(IpRange, WrongOnesAreRefused) {
  for (const std::string_view text :
       {"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/08", "10.0.0.0/8 ", "10.0.0.0/8/8", "/8",
        "10/8", "fd00::/129", "10.0.0.0/4294967304"}) {
    EXPECT_FALSE(parse_ip_range(text)) << text;
  }
  const auto more_bits = parse_ip_range("10.1.2.3/24");
  ASSERT_FALSE(more_bits);
  EXPECT_NE(more_bits.error().hint.find("\"10.1.2.0/24\""), std::string::npos) << more_bits.error().text();
  EXPECT_NE(parse_ip_range("fd12::1/8").error().hint.find("\"fd00::/8\""), std::string::npos);
}

}  // namespace
}  // namespace cloche::proto
