// One line of net.allow or net.deny: where a connection may go, or may not.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/result.h"
#include "proto/host_name.h"
#include "proto/ip_address.h"

namespace cloche::proto {

struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;

  bool contains(std::uint16_t port) const { return first <= port && port <= last; }
  auto operator<=>(const PortRange&) const = default;
};

class NetRule {
 public:
  // One or more whole labels in front of the parent: "*.example.org" is not "example.org".
  struct Below {
    HostName parent;
    auto operator<=>(const Below&) const = default;
  };
  using Host = std::variant<HostName, Below, IpRange>;

  NetRule(Host host, PortRange ports) : host_(std::move(host)), ports_(ports) {}

  const Host& host() const { return host_; }
  const PortRange& ports() const { return ports_; }
  bool is_for_names() const { return !std::holds_alternative<IpRange>(host_); }

  bool matches(const HostName& name) const;
  bool matches(const HostName& name, std::uint16_t port) const { return ports_.contains(port) && matches(name); }
  // A mapped address is the address that it maps.
  bool matches(const IpAddress& address, std::uint16_t port) const;

  std::string text() const;  // parses to the same rule

  auto operator<=>(const NetRule&) const = default;

 private:
  Host host_;
  PortRange ports_;
};

// "name:port", "*.name:port", "1.2.3.4:port", "10.0.0.0/8:port", "[2001:db8::1]:port", "[fd00::/8]:port"; the port is a
// number or "8000-8010".
Result<NetRule> parse_net_rule(std::string_view text);

}  // namespace cloche::proto
