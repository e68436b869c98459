#include "proto/http_authority.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>

#include "proto/http_chars.h"

namespace cloche::proto {
namespace {

constexpr std::size_t kMaxHost = 255;

std::optional<std::uint16_t> parse_port(std::string_view text) {
  if (text.empty() || text.size() > 5 || text[0] == '0' || !std::ranges::all_of(text, is_digit)) return std::nullopt;
  unsigned port = 0;
  for (const char c : text) port = port * 10 + static_cast<unsigned>(c - '0');
  if (port > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(port);
}

bool is_ipv6(const std::string& text) {
  in6_addr address{};
  // inet_pton() stops at a NUL, and some libraries take a zone.
  return std::ranges::all_of(text, [](char c) { return hex_value(c) >= 0 || c == ':' || c == '.'; }) &&
         inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

bool is_host_char(char c) { return is_alpha(c) || is_digit(c) || c == '-' || c == '.' || c == '_'; }

}  // namespace

std::string HttpAuthority::text() const {
  const std::string shown = kind == HttpHostKind::kIpv6 ? '[' + host + ']' : host;
  return port ? fmt::format("{}:{}", shown, *port) : shown;
}

std::string HttpAuthority::plain_text() const {
  HttpAuthority plain = *this;
  std::ranges::transform(plain.host, plain.host.begin(), to_lower);
  if (plain.host.size() > 1 && plain.host.ends_with('.')) plain.host.pop_back();
  return plain.text();
}

std::optional<HttpAuthority> parse_authority(std::string_view text) {
  HttpAuthority place;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    place.host = text.substr(1, end - 1);
    place.kind = HttpHostKind::kIpv6;
    rest = text.substr(end + 1);
    if (!is_ipv6(place.host)) return std::nullopt;
  } else {
    const std::size_t end = std::min(text.find(':'), text.size());
    place.host = text.substr(0, end);
    rest = text.substr(end);
    if (place.host.empty() || place.host.size() > kMaxHost || !std::ranges::all_of(place.host, is_host_char)) {
      return std::nullopt;
    }
  }
  if (rest.empty()) return place;
  if (rest[0] != ':') return std::nullopt;
  place.port = parse_port(rest.substr(1));
  if (!place.port) return std::nullopt;
  return place;
}

bool same_place(const HttpAuthority& a, const HttpAuthority& b, std::uint16_t default_port) {
  return a.kind == b.kind && same_name(a.host, b.host) &&
         a.port.value_or(default_port) == b.port.value_or(default_port);
}

}  // namespace cloche::proto
