#include "proto/address_class.h"

#include <array>

namespace cloche::proto {
namespace {

using enum AddressClass;

struct V4Row {
  std::array<std::uint8_t, 4> first;
  unsigned prefix;
  AddressClass kind;
};

// The first that holds the address counts; addresses of metadata services lie inside of other rows.
constexpr auto kV4Rows = std::to_array<V4Row>({
    {{169, 254, 169, 254}, 32, kMetadata},  // most clouds
    {{169, 254, 170, 2}, 32, kMetadata},    // credentials of containers on AWS
    {{169, 254, 170, 23}, 32, kMetadata},   // credentials of pods on AWS
    {{100, 100, 100, 200}, 32, kMetadata},  // Alibaba
    {{168, 63, 129, 16}, 32, kMetadata},    // Azure; a public address by its number
    {{192, 0, 0, 192}, 32, kMetadata},      // Oracle
    {{0, 0, 0, 0}, 8, kReserved},           // Linux takes 0.0.0.0 for loopback
    {{10, 0, 0, 0}, 8, kPrivate},          {{100, 64, 0, 0}, 10, kPrivate},    {{127, 0, 0, 0}, 8, kLoopback},
    {{169, 254, 0, 0}, 16, kLinkLocal},    {{172, 16, 0, 0}, 12, kPrivate},    {{192, 0, 0, 0}, 24, kReserved},
    {{192, 0, 2, 0}, 24, kReserved},       {{192, 88, 99, 0}, 24, kReserved},  {{192, 168, 0, 0}, 16, kPrivate},
    {{198, 18, 0, 0}, 15, kReserved},      {{198, 51, 100, 0}, 24, kReserved}, {{203, 0, 113, 0}, 24, kReserved},
    {{224, 0, 0, 0}, 4, kMulticast},       {{240, 0, 0, 0}, 4, kReserved},
});

struct V6Row {
  std::array<std::uint8_t, 16> first;
  unsigned prefix;
  AddressClass kind;
};

constexpr auto kV6Rows = std::to_array<V6Row>({
    {{0xfd, 0, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54}, 128, kMetadata},  // fd00:ec2::254, AWS
    {{0xfd, 0, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x23}, 128, kMetadata},     // fd00:ec2::23, AWS
    {{0xfd, 0x20, 0, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54}, 128, kMetadata},  // fd20:ce::254, Google
    {{0xfd, 0, 0, 0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x42}, 128, kMetadata},        // fd00:42::42, Scaleway
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128, kLoopback},
    {{0xfe, 0x80}, 10, kLinkLocal},
    {{0xfe, 0xc0}, 10, kPrivate},
    {{0xfc}, 7, kPrivate},
    {{0xff}, 8, kMulticast},
    {{0, 0x64, 0xff, 0x9b, 0, 1}, 48, kPrivate},  // 64:ff9b:1::/48, a NAT64 of one's own
    {{0, 0x64, 0xff, 0x9b}, 96, kPublic},         // 64:ff9b::/96, NAT64: what it embeds counts
    {{0x20, 0x01}, 23, kReserved},                // 2001::/23, protocols: Teredo, ORCHID, benchmarks
    {{0x20, 0x01, 0x0d, 0xb8}, 32, kReserved},
    {{0x3f, 0xff}, 20, kReserved},
    {{0x20}, 3, kPublic},  // 2000::/3, all that has been handed out
    {{}, 0, kReserved},
});

template <typename Rows>
AddressClass look_up(const Rows& rows, const IpAddress& address) {
  for (const auto& row : rows) {
    const auto range = IpRange::make(IpAddress(row.first), row.prefix);
    if (range && range->contains(address)) return row.kind;
  }
  return kPublic;
}

}  // namespace

std::string_view to_string(AddressClass kind) {
  switch (kind) {
    case kPublic:
      return "a public address";
    case kLoopback:
      return "a loopback address";
    case kPrivate:
      return "a private address";
    case kLinkLocal:
      return "a link-local address";
    case kMetadata:
      return "a cloud's metadata address";
    case kMulticast:
      return "a multicast address";
    case kReserved:
      return "a reserved address";
  }
  return "an unknown address";
}

AddressClass classify(const IpAddress& address) {
  if (address.is_v4()) return look_up(kV4Rows, address);
  if (const auto inner = address.embedded_v4()) {
    const AddressClass kind = look_up(kV4Rows, *inner);
    // A mapped address is no other place than the one that it maps.
    if (kind != kPublic || address.canonical().is_v4()) return kind;
  }
  return look_up(kV6Rows, address);
}

}  // namespace cloche::proto
