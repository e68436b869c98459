// The first message of TLS, which says in the clear which host is meant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "proto/host_name.h"

namespace cloche::proto {

struct ClientHello {
  std::optional<HostName> server_name;  // SNI
  std::vector<std::string> alpn;        // as offered
  std::vector<std::uint16_t> versions;  // as offered: 0x0304 is TLS 1.3; with the legacy one if there is no list
  bool has_ech = false;                 // an encrypted ClientHello (or ESNI): the name above may not be the one meant
  std::size_t consumed = 0;             // bytes of the records that held it; what follows is the connection's

  bool operator==(const ClientHello&) const = default;
};

struct HelloNeedMore {
  bool operator==(const HelloNeedMore&) const = default;
};

// The bytes are of another protocol. Whatever a TLS server might take for the beginning of TLS is kMalformed instead,
// so that nobody passes as something else.
struct HelloNotTls {
  bool operator==(const HelloNotTls&) const = default;
};

struct HelloMalformed {
  std::string reason;  // for the record
  bool operator==(const HelloMalformed&) const = default;
};

using HelloResult = std::variant<HelloNeedMore, ClientHello, HelloNotTls, HelloMalformed>;

inline constexpr std::size_t kHelloBound = 64 << 10;

// Of all bytes that the client has sent so far. More of them never change an answer that was given, except for
// HelloNeedMore, which is never given for kHelloBound bytes or more.
HelloResult parse_client_hello(std::string_view bytes);

enum class TlsAlertLevel : std::uint8_t { kWarning = 1, kFatal = 2 };
enum class TlsAlert : std::uint8_t {
  kHandshakeFailure = 40,
  kAccessDenied = 49,
  kDecodeError = 50,
  kInternalError = 80,
  kUnrecognizedName = 112,
};

std::string tls_alert(TlsAlertLevel level, TlsAlert description);

}  // namespace cloche::proto
