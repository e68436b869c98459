#include "proto/ip_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <initializer_list>

#include <fmt/format.h>

#include "base/units.h"

namespace cloche::proto {
namespace {

constexpr std::size_t kLongestText = 45;  // eight groups, the last two as four decimal parts

using V6Bytes = std::span<const std::uint8_t, 16>;

bool begins_with(V6Bytes bytes, std::initializer_list<std::uint8_t> prefix) {
  return std::equal(prefix.begin(), prefix.end(), bytes.begin());
}

IpAddress v4_at(V6Bytes bytes, std::size_t at, std::uint8_t mask = 0) {
  std::array<std::uint8_t, 4> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = bytes[at + i] ^ mask;
  return IpAddress(out);
}

bool is_mapped(V6Bytes bytes) { return begins_with(bytes, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}); }

// The longest run of two or more zero groups, the first of equals; RFC 5952, 4.2.
struct Run {
  std::size_t begin = 8;
  std::size_t size = 1;
};

Run longest_zeros(const std::array<unsigned, 8>& groups) {
  Run best;
  for (std::size_t i = 0; i < groups.size();) {
    std::size_t end = i;
    while (end < groups.size() && groups[end] == 0) ++end;
    if (end - i > best.size) best = {i, end - i};
    i = std::max(end, i + 1);
  }
  return best;
}

std::string v4_text(std::span<const std::uint8_t> bytes) {
  return fmt::format("{}.{}.{}.{}", bytes[0], bytes[1], bytes[2], bytes[3]);
}

std::string v6_text(V6Bytes bytes) {
  if (is_mapped(bytes)) return "::ffff:" + v4_text(bytes.last<4>());
  std::array<unsigned, 8> groups{};
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i] = unsigned{bytes[2 * i]} << 8 | bytes[2 * i + 1];
  const Run zeros = longest_zeros(groups);
  std::string out;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i == zeros.begin) {
      out += "::";
      i += zeros.size - 1;
      continue;
    }
    if (!out.empty() && out.back() != ':') out += ':';
    out += fmt::format("{:x}", groups[i]);
  }
  return out;
}

std::unexpected<Error> not_an_address(std::string_view text) {
  return fail(ErrorCode::kInvalidInput, "address", shown_text(text) + " is not an IP address",
              "write four decimal numbers, \"192.0.2.1\", or an IPv6 address without a zone, \"2001:db8::1\"");
}

}  // namespace

IpAddress::IpAddress(std::array<std::uint8_t, 4> bytes) { std::copy(bytes.begin(), bytes.end(), bytes_.begin()); }
IpAddress::IpAddress(std::array<std::uint8_t, 16> bytes) : family_(Family::kV6), bytes_(bytes) {}

std::string IpAddress::text() const { return is_v4() ? v4_text(bytes()) : v6_text(bytes_); }
std::string IpAddress::host_text() const { return is_v4() ? text() : "[" + text() + "]"; }

std::optional<IpAddress> IpAddress::embedded_v4() const {
  if (is_v4()) return std::nullopt;
  const V6Bytes bytes(bytes_);
  const bool zeros = begins_with(bytes, {0, 0, 0, 0, 0, 0, 0, 0});
  if (is_mapped(bytes)) return v4_at(bytes, 12);
  if (zeros && begins_with(bytes, {0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0})) return v4_at(bytes, 12);
  if (zeros && begins_with(bytes, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})) {
    // :: and ::1 are addresses of their own.
    if (bytes[12] == 0 && bytes[13] == 0 && bytes[14] == 0 && bytes[15] <= 1) return std::nullopt;
    return v4_at(bytes, 12);
  }
  if (begins_with(bytes, {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0})) return v4_at(bytes, 12);
  if (begins_with(bytes, {0x20, 0x02})) return v4_at(bytes, 2);
  if (begins_with(bytes, {0x20, 0x01, 0, 0})) return v4_at(bytes, 12, 0xff);
  if ((bytes[8] & 0xfd) == 0 && bytes[9] == 0 && bytes[10] == 0x5e && bytes[11] == 0xfe) return v4_at(bytes, 12);
  return std::nullopt;
}

IpAddress IpAddress::unmapped() const { return embedded_v4().value_or(*this); }

IpAddress IpAddress::canonical() const { return !is_v4() && is_mapped(bytes_) ? v4_at(bytes_, 12) : *this; }

bool IpAddress::is_unspecified() const {
  return std::ranges::all_of(unmapped().bytes_, [](std::uint8_t byte) { return byte == 0; });
}

Result<IpAddress> parse_ip(std::string_view text) {
  // inet_pton is the strict one: no octal, no short forms, no zone. It ends at a NUL, which a text may have inside.
  if (text.size() > kLongestText || text.find('\0') != std::string_view::npos) return not_an_address(text);
  const std::string terminated(text);
  std::array<std::uint8_t, 4> v4{};
  if (inet_pton(AF_INET, terminated.c_str(), v4.data()) == 1) return IpAddress(v4);
  std::array<std::uint8_t, 16> v6{};
  if (inet_pton(AF_INET6, terminated.c_str(), v6.data()) == 1) return IpAddress(v6);
  return not_an_address(text);
}

SocketAddress to_sockaddr(const IpAddress& address, std::uint16_t port) {
  SocketAddress out;
  if (address.is_v4()) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, address.bytes().data(), 4);
    std::memcpy(&out.storage, &v4, sizeof v4);
    out.size = sizeof v4;
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&v6.sin6_addr, address.bytes().data(), 16);
    std::memcpy(&out.storage, &v6, sizeof v6);
    out.size = sizeof v6;
  }
  return out;
}

std::optional<Endpoint> from_sockaddr(const sockaddr* address, socklen_t size) {
  sa_family_t family = AF_UNSPEC;
  if (address == nullptr || size < offsetof(sockaddr, sa_family) + sizeof family) return std::nullopt;
  std::memcpy(&family, reinterpret_cast<const char*>(address) + offsetof(sockaddr, sa_family), sizeof family);
  if (family == AF_INET && size >= sizeof(sockaddr_in)) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    std::array<std::uint8_t, 4> bytes{};
    std::memcpy(bytes.data(), &v4.sin_addr, bytes.size());
    return Endpoint{IpAddress(bytes), ntohs(v4.sin_port)};
  }
  if (family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, address, sizeof v6);
    std::array<std::uint8_t, 16> bytes{};
    std::memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
    return Endpoint{IpAddress(bytes), ntohs(v6.sin6_port)};
  }
  return std::nullopt;
}

IpRange::IpRange(const IpAddress& address)
    : first_(address), prefix_(static_cast<unsigned>(8 * address.bytes().size())) {}

std::optional<IpRange> IpRange::make(const IpAddress& first, unsigned prefix) {
  const auto bytes = first.bytes();
  if (prefix > 8 * bytes.size()) return std::nullopt;
  for (unsigned bit = prefix; bit < 8 * bytes.size(); ++bit) {
    if ((bytes[bit / 8] >> (7 - bit % 8) & 1) != 0) return std::nullopt;
  }
  return IpRange(first, prefix);
}

bool IpRange::contains(const IpAddress& address) const {
  if (address.family() != first_.family()) return false;
  const auto mine = first_.bytes();
  const auto other = address.bytes();
  const unsigned whole = prefix_ / 8;
  if (!std::equal(mine.begin(), mine.begin() + whole, other.begin())) return false;
  const unsigned rest = prefix_ % 8;
  return rest == 0 || (mine[whole] ^ other[whole]) >> (8 - rest) == 0;
}

std::string IpRange::text() const { return is_single() ? first_.text() : fmt::format("{}/{}", first_.text(), prefix_); }

Result<IpRange> parse_ip_range(std::string_view text) {
  const std::size_t slash = text.find('/');
  CLOCHE_TRY_ASSIGN(const IpAddress first, parse_ip(text.substr(0, slash)));
  if (slash == std::string_view::npos) return IpRange(first);
  const std::string_view digits = text.substr(slash + 1);
  const std::size_t bits = 8 * first.bytes().size();
  unsigned prefix = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), prefix);
  if (error != std::errc{} || end != digits.data() + digits.size() || prefix > bits ||
      (digits.size() > 1 && digits.front() == '0')) {
    return fail(ErrorCode::kInvalidInput, "address", shown_text(text) + " is not a range of addresses",
                fmt::format("after the slash write how many bits are fixed, 0 to {}", bits));
  }
  if (const auto range = IpRange::make(first, prefix)) return *range;
  // The range that was meant, so that it can be copied.
  std::array<std::uint8_t, 16> bytes{};
  std::copy(first.bytes().begin(), first.bytes().end(), bytes.begin());
  for (unsigned bit = prefix; bit < bits; ++bit) bytes[bit / 8] &= static_cast<std::uint8_t>(~(0x80 >> bit % 8));
  const IpAddress meant =
      first.is_v4() ? IpAddress(std::array{bytes[0], bytes[1], bytes[2], bytes[3]}) : IpAddress(bytes);
  return fail(ErrorCode::kInvalidInput, "address",
              fmt::format("{} has bits set beyond the first {}", shown_text(text), prefix),
              fmt::format("write \"{}/{}\" for the range, or \"{}\" for this address alone", meant.text(), prefix,
                          first.text()));
}

}  // namespace cloche::proto
