// What the engine tells a gateway before it serves, in one piece. Rules are texts here: both sides read them with the
// same parser, and the gateway trusts nobody's word but its own parser's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/packed.h"
#include "base/result.h"
#include "base/units.h"

namespace cloche::egress {

// A grant that ends by itself. Absent: with the run. Zero: not granted yet, but `cloche grant` may.
using Lasts = std::optional<Millis>;

struct Rule {
  std::string text;  // "*.example.org:443"
  Lasts lasts;
  bool operator==(const Rule&) const = default;
};

struct Limits {
  std::optional<std::uint64_t> bytes_in;
  std::optional<std::uint64_t> bytes_out;
  std::optional<std::uint64_t> connections;  // of the whole run
  std::optional<std::uint64_t> rate;         // bytes a second, both ways together
  bool operator==(const Limits&) const = default;
};

enum class SecretPlace : std::uint8_t { kHeader, kQuery, kBasic };
inline constexpr std::size_t kSecretPlaceCount = 3;

struct Secret {
  std::string name;                // of the guest's variable
  std::string placeholder;         // what the guest holds: of the value's length and alphabet
  std::string value;               // never printed, never sent back
  std::vector<std::string> hosts;  // rules
  SecretPlace place{};
  std::string field;  // the header's or the parameter's name; unused for basic
  Lasts lasts;
  bool operator==(const Secret&) const = default;
};

// A socket of the host, by its path in the cell. The engine dials it.
struct Socket {
  std::string path;
  bool has_rules = false;  // else bytes pass as they are
  std::vector<std::string> methods;
  std::map<std::string, std::string> context;
  std::uint64_t max_message = 1024 * 1024;
  Lasts lasts;
  bool operator==(const Socket&) const = default;
};

struct Settings {
  std::vector<Rule> allow;
  std::vector<std::string> deny;
  Limits limits;
  std::vector<Secret> secrets;
  std::vector<Socket> sockets;
  std::uint16_t proxy_port = 0;
  std::string resolv_conf;  // the host's, as it is
  std::string hosts;        // the host's /etc/hosts
  std::string ca_bundle;    // PEM; only where TLS is ended here
  bool ends_tls = false;
  std::uint32_t uid = 0;  // to become, with a group of the same number; 0: stay
  bool operator==(const Settings&) const = default;
};

inline constexpr std::size_t kMaxSettings = std::size_t{16} * 1024 * 1024;

std::string encode(const Settings& settings);
// What is larger, longer or stranger than it may be is refused as a whole.
Result<Settings> decode_settings(std::string_view bytes);

void put_lasts(std::string& bytes, const Lasts& lasts);
Lasts take_lasts(PackedReader& in);
void put_limits(std::string& bytes, const Limits& limits);
Limits take_limits(PackedReader& in);

}  // namespace cloche::egress
