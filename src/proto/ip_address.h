// Addresses of the Internet, as values. One text for each address, and one address for each text.
#pragma once

#include <sys/socket.h>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cloche::proto {

class IpAddress {
 public:
  enum class Family : std::uint8_t { kV4, kV6 };

  IpAddress() = default;  // 0.0.0.0
  explicit IpAddress(std::array<std::uint8_t, 4> bytes);
  explicit IpAddress(std::array<std::uint8_t, 16> bytes);

  Family family() const { return family_; }
  bool is_v4() const { return family_ == Family::kV4; }
  // Four or sixteen, in network order.
  std::span<const std::uint8_t> bytes() const { return std::span(bytes_).first(is_v4() ? 4 : 16); }

  std::string text() const;  // RFC 5952; without brackets
  // The same, in brackets if there is a colon in it: what stands in front of a port.
  std::string host_text() const;

  // The IPv4 address in it that packets for it would reach: mapped (::ffff:a.b.c.d), compatible (::a.b.c.d), translated
  // (::ffff:0:a.b.c.d), NAT64 (64:ff9b::a.b.c.d), 6to4, Teredo (its client) and ISATAP.
  std::optional<IpAddress> embedded_v4() const;
  // embedded_v4(), or itself.
  IpAddress unmapped() const;
  // ::ffff:a.b.c.d is a.b.c.d for the kernel, too; everything else stays. What came from a socket for both families is
  // to be asked for by this one.
  IpAddress canonical() const;

  // 0.0.0.0 and ::, also inside of an address that leads there: no host has it, and Linux takes it for its loopback.
  bool is_unspecified() const;

  auto operator<=>(const IpAddress&) const = default;

 private:
  Family family_ = Family::kV4;
  std::array<std::uint8_t, 16> bytes_{};
};

// "1.2.3.4" with four decimal parts without leading zeros, or RFC 4291 without brackets and zone. Nothing that only
// some libraries read as an address.
Result<IpAddress> parse_ip(std::string_view text);

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

SocketAddress to_sockaddr(const IpAddress& address, std::uint16_t port);

struct Endpoint {
  IpAddress address;
  std::uint16_t port = 0;

  auto operator<=>(const Endpoint&) const = default;
};

// Nothing if it is of another family or too short. A mapped address stays mapped.
std::optional<Endpoint> from_sockaddr(const sockaddr* address, socklen_t size);

// All addresses that begin with the same bits.
class IpRange {
 public:
  explicit IpRange(const IpAddress& address);  // this one alone
  // Nothing if the prefix is longer than an address, or bits beyond it are set.
  static std::optional<IpRange> make(const IpAddress& first, unsigned prefix);

  const IpAddress& first() const { return first_; }
  unsigned prefix() const { return prefix_; }
  bool is_single() const { return prefix_ == 8 * first_.bytes().size(); }
  // Of the same family only: 0.0.0.0/0 holds no IPv6 address, and ::/0 no IPv4 one.
  bool contains(const IpAddress& address) const;
  std::string text() const;  // "10.0.0.0/8"; a single address without the "/32"

  auto operator<=>(const IpRange&) const = default;

 private:
  IpRange(const IpAddress& first, unsigned prefix) : first_(first), prefix_(prefix) {}

  IpAddress first_;
  unsigned prefix_;
};

// "10.0.0.0/8", "fd00::/8", or an address.
Result<IpRange> parse_ip_range(std::string_view text);

}  // namespace cloche::proto
