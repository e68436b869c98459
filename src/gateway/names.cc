#include "gateway/names.h"

#include <algorithm>
#include <array>

namespace cloche::gateway {
namespace {

constexpr std::array<std::uint8_t, 8> kPrefix6 = {0xfd, 0x63, 0x6c, 0x6f, 0x63, 0x68, 0x65, 0x00};
constexpr std::size_t kFirst = 256;  // 198.18.1.0: the first addresses of a network have meanings

proto::IpAddress v4_of(std::size_t index) {
  const auto number = static_cast<std::uint32_t>(index + kFirst);
  return proto::IpAddress(std::array<std::uint8_t, 4>{198, static_cast<std::uint8_t>(18 + (number >> 16)),
                                                      static_cast<std::uint8_t>(number >> 8),
                                                      static_cast<std::uint8_t>(number)});
}

proto::IpAddress v6_of(std::size_t index) {
  std::array<std::uint8_t, 16> bytes{};
  std::ranges::copy(kPrefix6, bytes.begin());
  const auto number = static_cast<std::uint32_t>(index + kFirst);
  bytes[13] = static_cast<std::uint8_t>(number >> 16);
  bytes[14] = static_cast<std::uint8_t>(number >> 8);
  bytes[15] = static_cast<std::uint8_t>(number);
  return proto::IpAddress(bytes);
}

}  // namespace

std::optional<Names::Pair> Names::addresses_of(const proto::HostName& name) {
  auto found = index_.find(name.text());
  if (found == index_.end()) {
    if (names_.size() >= kMost) return std::nullopt;
    found = index_.emplace(name.text(), names_.size()).first;
    names_.push_back(name);
  }
  return Pair{v4_of(found->second), v6_of(found->second)};
}

const proto::HostName* Names::name_of(const proto::IpAddress& address) const {
  if (!is_ours(address)) return nullptr;
  const auto bytes = address.bytes();
  const std::size_t at = bytes.size() - 3;
  const std::size_t high = address.is_v4() ? static_cast<std::size_t>(bytes[at] - 18) : bytes[at];
  const std::size_t number = (high << 16) | (std::size_t{bytes[at + 1]} << 8) | bytes[at + 2];
  if (number < kFirst || number - kFirst >= names_.size()) return nullptr;
  // Bytes between prefix and number must be what we gave out.
  const proto::IpAddress given = address.is_v4() ? v4_of(number - kFirst) : v6_of(number - kFirst);
  return given == address ? &names_[number - kFirst] : nullptr;
}

bool Names::is_ours(const proto::IpAddress& address) {
  const auto bytes = address.bytes();
  if (address.is_v4()) return bytes[0] == 198 && (bytes[1] == 18 || bytes[1] == 19);
  return std::equal(kPrefix6.begin(), kPrefix6.end(), bytes.begin());
}

}  // namespace cloche::gateway
