#include "proto/address_class.h"

#include <utility>

#include <gtest/gtest.h>

namespace cloche::proto {
namespace {

using enum AddressClass;

AddressClass class_of(std::string_view text) { return classify(parse_ip(text).value()); }

TEST(AddressClass, TellsWhatOnlyThisMachineCanReach) {
  const std::pair<std::string_view, AddressClass> rows[] = {
      {"8.8.8.8", kPublic},
      {"1.1.1.1", kPublic},
      {"172.15.255.255", kPublic},
      {"172.32.0.0", kPublic},
      {"100.63.255.255", kPublic},
      {"100.128.0.0", kPublic},
      {"223.255.255.255", kPublic},
      {"127.0.0.1", kLoopback},
      {"127.255.255.255", kLoopback},
      {"10.255.255.255", kPrivate},
      {"172.16.0.0", kPrivate},
      {"172.31.255.255", kPrivate},
      {"192.168.1.1", kPrivate},
      {"100.64.0.0", kPrivate},
      {"100.127.255.255", kPrivate},
      {"169.254.0.1", kLinkLocal},
      {"169.254.169.254", kMetadata},
      {"169.254.170.2", kMetadata},
      {"100.100.100.200", kMetadata},
      {"168.63.129.16", kMetadata},
      {"168.63.129.17", kPublic},
      {"0.0.0.0", kReserved},
      {"0.1.2.3", kReserved},
      {"192.0.2.1", kReserved},
      {"198.51.100.1", kReserved},
      {"203.0.113.1", kReserved},
      {"198.18.0.1", kReserved},
      {"198.19.255.255", kReserved},
      {"198.20.0.0", kPublic},
      {"224.0.0.1", kMulticast},
      {"239.255.255.255", kMulticast},
      {"240.0.0.1", kReserved},
      {"255.255.255.255", kReserved},
      {"2606:4700::1111", kPublic},
      {"2001:4860:4860::8888", kPublic},
      {"::", kReserved},
      {"::1", kLoopback},
      {"fe80::1", kLinkLocal},
      {"febf::1", kLinkLocal},
      {"fec0::1", kPrivate},
      {"fc00::1", kPrivate},
      {"fd63:6c6f:6368:6500::1", kPrivate},
      {"fd00:ec2::254", kMetadata},
      {"ff02::1", kMulticast},
      {"2001:db8::1", kReserved},
      {"3fff::1", kReserved},
      {"2001:2::1", kReserved},
      {"100::1", kReserved},
      {"4000::1", kReserved},
      {"5f00::1", kReserved},
      {"64:ff9b:1::8.8.8.8", kPrivate},
  };
  for (const auto& [text, kind] : rows) EXPECT_EQ(class_of(text), kind) << text;
}

TEST(AddressClass, LooksThroughEmbeddedAddresses) {
  const std::pair<std::string_view, AddressClass> rows[] = {
      {"::ffff:127.0.0.1", kLoopback},
      {"::ffff:169.254.169.254", kMetadata},
      {"::ffff:8.8.8.8", kPublic},
      {"::127.0.0.1", kLoopback},
      {"::8.8.8.8", kReserved},
      {"::ffff:0:10.0.0.1", kPrivate},
      {"64:ff9b::192.168.0.1", kPrivate},
      {"64:ff9b::168.63.129.16", kMetadata},
      {"64:ff9b::8.8.8.8", kPublic},
      {"2002:7f00:1::", kLoopback},
      {"2002:808:808::1", kPublic},
      {"2001:0:102:304::80ff:fffe", kLoopback},  // Teredo: the client's address is inverted
      {"2001:0:102:304::f7f7:f7f7", kReserved},
      {"2606:4700::5efe:10.0.0.1", kPrivate},
      {"fe80::5efe:8.8.8.8", kLinkLocal},
  };
  for (const auto& [text, kind] : rows) EXPECT_EQ(class_of(text), kind) << text;
}

}  // namespace
}  // namespace cloche::proto
