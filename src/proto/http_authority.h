// "host", "host:port", "[v6]:port": what a Host header, an absolute target or a CONNECT names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cloche::proto {

enum class HttpHostKind {
  kName,  // letters, digits, - . _ as they came; may still be an address in dotted or an odder form
  kIpv6,  // came in brackets; kept without them
};

struct HttpAuthority {
  std::string host;
  HttpHostKind kind = HttpHostKind::kName;
  std::optional<std::uint16_t> port;

  std::string text() const;  // as it is written in a head
  // The same in the one spelling that every server takes for this name: some find no site of theirs for a name in
  // capitals or with a last dot, and take another one.
  std::string plain_text() const;

  bool operator==(const HttpAuthority&) const = default;
};

// Nothing for user names, percent escapes, zone ids, an empty host or port, port 0 and ports with leading zeros: one
// text per place, so that nobody behind us reads another one.
std::optional<HttpAuthority> parse_authority(std::string_view text);

// The same host without regard to case, and the same port where a missing one is `default_port`.
bool same_place(const HttpAuthority& a, const HttpAuthority& b, std::uint16_t default_port);

}  // namespace cloche::proto
