// Names, addresses, ranges and rules: whatever is accepted prints to a text that parses to the same, no text is both a
// name and an address, and no rule allows what a rule denies.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>

#include "proto/address_class.h"
#include "proto/rule_set.h"

namespace {

using namespace cloche::proto;

void check(bool holds) {
  if (!holds) __builtin_trap();
}

void check_host(std::string_view text) {
  const auto name = parse_host_name(text);
  const auto address = parse_ip(text);
  check(!(name && address));
  if (name) {
    check(parse_host_name(name->text()).value() == *name);
    check(parse_host_name(name->text() + ".").value() == *name);
    check(!name->is_below(*name));
    in_addr any{};
    check(inet_aton(name->text().c_str(), &any) == 0);
  }
  if (address) {
    check(parse_ip(address->text()).value() == *address);
    check(address->unmapped() == address->canonical().unmapped());
    check(classify(*address) == classify(address->canonical()));
    if (classify(address->unmapped()) != AddressClass::kPublic) check(classify(*address) != AddressClass::kPublic);
    const SocketAddress socket = to_sockaddr(*address, 1);
    check(from_sockaddr(socket.get(), socket.size).value() == Endpoint{*address, 1});
  }
  if (const auto range = parse_ip_range(text)) {
    check(parse_ip_range(range->text()).value() == *range);
    check(range->contains(range->first()));
  }
}

// The first lines are rules, by turns allowed and denied; the others are what is asked for.
void check_rules(const std::vector<std::string_view>& lines) {
  RuleSet set;
  std::vector<HostName> names;
  std::vector<IpAddress> addresses;
  for (const std::string_view line : lines) {
    if (auto rule = parse_net_rule(line)) {
      check(parse_net_rule(rule->text()).value() == *rule);
      ((set.allow.size() + set.deny.size()) % 2 == 0 ? set.allow : set.deny).push_back(std::move(*rule));
    } else if (auto name = parse_host_name(line)) {
      names.push_back(std::move(*name));
    } else if (const auto address = parse_ip(line)) {
      addresses.push_back(*address);
    }
  }
  for (const NetRule& rule : set.allow) {
    const std::uint16_t port = rule.ports().first;
    for (const HostName& name : names) {
      const bool allowed = set.decide_name(name, port).allowed();
      if (allowed) check(set.decide_lookup(name).allowed());
      for (const NetRule& denying : set.deny) check(!allowed || !denying.matches(name, port));
      for (const IpAddress& address : addresses) {
        if (!set.decide_resolved(name, address, port).allowed()) continue;
        check(allowed);
        for (const NetRule& denying : set.deny) check(!denying.matches(address.unmapped(), port));
        check(name.text() == "localhost" || classify(address) == AddressClass::kPublic ||
              set.decide_address(address, port).allowed());
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view left(reinterpret_cast<const char*>(data), size);
  std::vector<std::string_view> lines;
  while (lines.size() < 16) {
    const std::size_t end = left.find('\n');
    lines.push_back(left.substr(0, end));
    check_host(lines.back());
    if (end == std::string_view::npos) break;
    left.remove_prefix(end + 1);
  }
  check_rules(lines);
  return 0;
}
