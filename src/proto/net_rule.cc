#include "proto/net_rule.h"

#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/units.h"

namespace cloche::proto {
namespace {

std::unexpected<Error> refuse(std::string_view text, std::string_view why, std::string hint) {
  return fail(ErrorCode::kInvalidInput, "rule", fmt::format("{} {}", shown_text(text), why), std::move(hint));
}

std::optional<std::uint16_t> parse_port(std::string_view digits) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc{} || end != digits.data() + digits.size() || port == 0 || digits.front() == '0') {
    return std::nullopt;
  }
  return port;
}

Result<PortRange> parse_ports(std::string_view rule, std::string_view text) {
  if (text == "*") {
    return refuse(rule, "has a star for a port", "write the port, or all of them as \"1-65535\"");
  }
  const std::size_t dash = text.find('-');
  const auto first = parse_port(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_port(text.substr(dash + 1));
  if (!first || !last) {
    return refuse(rule, "has a wrong port", "write a number from 1 to 65535, or two as in \"8000-8010\"");
  }
  if (*first > *last) {
    return refuse(rule, "has ports that end before they begin", fmt::format("write \"{}-{}\"", *last, *first));
  }
  return PortRange{*first, *last};
}

struct Parts {
  std::string_view host;
  std::string_view ports;
  bool in_brackets = false;
};

Result<Parts> split(std::string_view text) {
  if (text.find("://") != std::string_view::npos) {
    return refuse(text, "is a URL, not a rule", "write the host and the port alone, \"example.org:443\"");
  }
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos || text.substr(end + 1, 1) != ":") {
      return refuse(text, "has a bracket without an end, or no port behind it", "write \"[2001:db8::1]:443\"");
    }
    return Parts{text.substr(1, end - 1), text.substr(end + 2), true};
  }
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return refuse(text, "has no port", "write the port behind a colon, \"example.org:443\"");
  }
  if (text.find(':', colon + 1) != std::string_view::npos) {
    return refuse(text, "has more than one colon", "an IPv6 address stands in brackets: write \"[2001:db8::1]:443\"");
  }
  return Parts{text.substr(0, colon), text.substr(colon + 1), false};
}

Result<NetRule::Host> parse_range(std::string_view rule, const Parts& parts) {
  CLOCHE_TRY_ASSIGN(const IpRange range, parse_ip_range(parts.host));
  if (parts.in_brackets && range.first().is_v4()) {
    return refuse(rule, "has an IPv4 address in brackets", fmt::format("write \"{}:{}\"", range.text(), parts.ports));
  }
  // The kernel knows no mapped addresses behind a socket: such a rule would look as if it held.
  if (const IpAddress inner = range.first().canonical(); inner != range.first() && range.prefix() >= 96) {
    const auto meant = IpRange::make(inner, range.prefix() - 96);
    return refuse(rule, "has an IPv4 address written as an IPv6 one",
                  fmt::format("write \"{}:{}\"", meant ? meant->text() : inner.text(), parts.ports));
  }
  return range;
}

Result<NetRule::Host> parse_host(std::string_view rule, const Parts& parts) {
  if (parts.in_brackets || parts.host.find('/') != std::string_view::npos) return parse_range(rule, parts);
  if (parse_ip(parts.host)) return parse_range(rule, parts);
  if (parts.host.starts_with("*.")) {
    if (parts.host.find('*', 1) == std::string_view::npos) {
      CLOCHE_TRY_ASSIGN(HostName parent, parse_host_name(parts.host.substr(2)));
      return NetRule::Below{std::move(parent)};
    }
  }
  if (parts.host.find('*') != std::string_view::npos) {
    return refuse(rule, "has a star where none can be",
                  "a star stands for whole labels in front of a name: write \"*.example.org:443\"");
  }
  return parse_host_name(parts.host);
}

}  // namespace

bool NetRule::matches(const HostName& name) const {
  if (const auto* own = std::get_if<HostName>(&host_)) return *own == name;
  if (const auto* below = std::get_if<Below>(&host_)) return name.is_below(below->parent);
  return false;
}

bool NetRule::matches(const IpAddress& address, std::uint16_t port) const {
  const auto* range = std::get_if<IpRange>(&host_);
  return range != nullptr && ports_.contains(port) && range->contains(address.canonical());
}

std::string NetRule::text() const {
  std::string out;
  if (const auto* name = std::get_if<HostName>(&host_)) {
    out = name->text();
  } else if (const auto* below = std::get_if<Below>(&host_)) {
    out = "*." + below->parent.text();
  } else if (const auto* range = std::get_if<IpRange>(&host_)) {
    out = range->first().is_v4() ? range->text() : "[" + range->text() + "]";
  }
  out += fmt::format(":{}", ports_.first);
  if (ports_.last != ports_.first) out += fmt::format("-{}", ports_.last);
  return out;
}

Result<NetRule> parse_net_rule(std::string_view text) {
  CLOCHE_TRY_ASSIGN(const Parts parts, split(text));
  if (parts.host.empty()) return refuse(text, "has no host", "write a name or an address in front of the colon");
  CLOCHE_TRY_ASSIGN(const PortRange ports, parse_ports(text, parts.ports));
  CLOCHE_TRY_ASSIGN(NetRule::Host host, parse_host(text, parts));
  return NetRule(std::move(host), ports);
}

}  // namespace cloche::proto
