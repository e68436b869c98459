#include "proto/socks.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "proto/byte_reader.h"

namespace cloche::proto {
namespace {

constexpr char kVersion4 = 4;
constexpr char kVersion5 = 5;
constexpr char kNoAuthentication = 0;
constexpr char kConnect = 1;
constexpr std::uint8_t kTypeV4 = 1;
constexpr std::uint8_t kTypeName = 3;
constexpr std::uint8_t kTypeV6 = 4;

SocksRefusal refuse(SocksCode code, std::string_view reason) { return {socks_reply(code), std::string(reason)}; }

template <std::size_t kSize>
IpAddress take_address(ByteReader& reader) {
  std::array<std::uint8_t, kSize> bytes{};
  const std::string_view taken = reader.take(kSize);
  std::transform(taken.begin(), taken.end(), bytes.begin(), [](char c) { return static_cast<std::uint8_t>(c); });
  return IpAddress(bytes);
}

std::optional<std::variant<HostName, IpAddress>> read_name(std::string_view text) {
  if (const auto address = parse_ip(text)) return *address;
  if (auto name = parse_host_name(text)) return std::move(*name);
  return std::nullopt;
}

}  // namespace

bool begins_socks(char first) { return first == kVersion4 || first == kVersion5; }

std::variant<SocksNeedMore, SocksGreeting, SocksRefusal> parse_socks_greeting(std::string_view bytes) {
  if (bytes.empty()) return SocksNeedMore{};
  if (bytes[0] == kVersion4) {
    // 91: rejected. Version 4 has no names, and 4a is not worth a second parser.
    return SocksRefusal{std::string("\0\x5b\0\0\0\0\0\0", 8), "SOCKS 4 and 4a are not supported; use SOCKS 5"};
  }
  if (bytes[0] != kVersion5) return SocksRefusal{{}, "not SOCKS"};
  ByteReader reader(bytes.substr(1));
  const std::string_view methods = reader.text8();
  if (!reader.good()) return SocksNeedMore{};
  if (methods.find(kNoAuthentication) == std::string_view::npos) {
    return SocksRefusal{std::string("\x05\xff", 2), "SOCKS without the method \"no authentication\""};
  }
  return SocksGreeting{std::string("\x05\0", 2), 2 + methods.size()};
}

std::variant<SocksNeedMore, SocksRequest, SocksRefusal> parse_socks_request(std::string_view bytes) {
  // Each byte is judged as soon as it is there.
  if (!bytes.empty() && bytes[0] != kVersion5) return refuse(SocksCode::kFailure, "a SOCKS request of another version");
  if (bytes.size() > 1 && bytes[1] != kConnect) {
    return refuse(SocksCode::kCommandNotSupported, "a SOCKS command other than CONNECT");
  }
  if (bytes.size() > 2 && bytes[2] != 0) return refuse(SocksCode::kFailure, "a malformed SOCKS request");
  if (bytes.size() < 4) return SocksNeedMore{};

  ByteReader reader(bytes.substr(3));
  std::optional<std::variant<HostName, IpAddress>> host;
  switch (reader.u8()) {
    case kTypeV4:
      host = take_address<4>(reader);
      break;
    case kTypeV6:
      host = take_address<16>(reader);
      break;
    case kTypeName: {
      const std::string_view name = reader.text8();
      if (!reader.good()) return SocksNeedMore{};
      host = read_name(name);
      if (!host) return refuse(SocksCode::kFailure, "a SOCKS request for what is not the name of a host");
      break;
    }
    default:
      return refuse(SocksCode::kAddressTypeNotSupported, "a SOCKS request with an unknown kind of address");
  }
  const std::uint16_t port = reader.u16();
  if (!reader.good()) return SocksNeedMore{};
  if (port == 0) return refuse(SocksCode::kFailure, "a SOCKS request for port 0");
  return SocksRequest{std::move(*host), port, bytes.size() - reader.left()};
}

std::string socks_reply(SocksCode code) {
  std::string out(10, '\0');
  out[0] = kVersion5;
  out[1] = static_cast<char>(code);
  out[3] = static_cast<char>(kTypeV4);
  return out;
}

}  // namespace cloche::proto
