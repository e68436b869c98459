// SOCKS 5 (RFC 1928), the server's side: no authentication, CONNECT only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "proto/host_name.h"
#include "proto/ip_address.h"

namespace cloche::proto {

enum class SocksCode : std::uint8_t {
  kGranted = 0,
  kFailure = 1,
  kNotAllowed = 2,
  kNetworkUnreachable = 3,
  kHostUnreachable = 4,
  kConnectionRefused = 5,
  kTimedOut = 6,
  kCommandNotSupported = 7,
  kAddressTypeNotSupported = 8,
};

struct SocksNeedMore {
  bool operator==(const SocksNeedMore&) const = default;
};

// What to send, if anything, before the connection is closed.
struct SocksRefusal {
  std::string reply;
  std::string reason;
  bool operator==(const SocksRefusal&) const = default;
};

struct SocksGreeting {
  std::string reply;  // to be sent; then comes the request
  std::size_t consumed = 0;
  bool operator==(const SocksGreeting&) const = default;
};

struct SocksRequest {
  std::variant<HostName, IpAddress> host;  // a name that is written as an address is one
  std::uint16_t port = 0;
  std::size_t consumed = 0;
  bool operator==(const SocksRequest&) const = default;
};

// Whether a connection that begins with this byte speaks some version of SOCKS.
bool begins_socks(char first);

// Both are given all bytes that have come and have not been consumed; nothing changes an answer but SocksNeedMore.
std::variant<SocksNeedMore, SocksGreeting, SocksRefusal> parse_socks_greeting(std::string_view bytes);
std::variant<SocksNeedMore, SocksRequest, SocksRefusal> parse_socks_request(std::string_view bytes);

// The address in it is 0.0.0.0:0: where the way out has its own end is none of the guest's business.
std::string socks_reply(SocksCode code);

}  // namespace cloche::proto
