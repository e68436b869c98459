#include "proto/rule_set.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "proto/address_class.h"

namespace cloche::proto {
namespace {

Decision allowed_by(const NetRule& rule) { return {Verdict::kAllowed, rule.text(), {}}; }

Decision denied_by(const NetRule& rule, std::string_view what) {
  const std::string text = rule.text();
  return {Verdict::kDenied, text, fmt::format("{} is denied by net.deny \"{}\"", what, text)};
}

Decision denied_for(std::string reason) { return {Verdict::kDenied, {}, std::move(reason)}; }

std::string shown(const HostName& name, std::uint16_t port) { return fmt::format("{}:{}", name.text(), port); }
std::string shown(const IpAddress& address, std::uint16_t port) {
  return fmt::format("{}:{}", address.host_text(), port);
}

template <typename Host>
const NetRule* find(const std::vector<NetRule>& rules, const Host& host, std::uint16_t port) {
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const NetRule& r) { return r.matches(host, port); });
  return found == rules.end() ? nullptr : &*found;
}

// A denied IPv4 range must not be reached through an IPv6 address that leads there, nor a denied "localhost" by its
// address. Nothing is allowed that way.
const NetRule* find_denial(const RuleSet& rules, const IpAddress& address, std::uint16_t port) {
  if (const NetRule* rule = find(rules.deny, address, port)) return rule;
  const auto inner = address.embedded_v4();
  if (const NetRule* rule = inner ? find(rules.deny, *inner, port) : nullptr) return rule;
  if (classify(address) != AddressClass::kLoopback) return nullptr;
  return find(rules.deny, parse_host_name("localhost").value(), port);
}

std::string no_host(std::string_view what) { return fmt::format("{} is the address of no host", what); }

// The first port of the allowed ones that is not denied, if any: it is the first of all, or follows one that is.
std::optional<std::uint16_t> open_port(const RuleSet& rules, const NetRule& allowing, const HostName& name) {
  const auto is_open = [&](std::uint16_t port) {
    return allowing.ports().contains(port) && find(rules.deny, name, port) == nullptr;
  };
  if (is_open(allowing.ports().first)) return allowing.ports().first;
  for (const NetRule& denying : rules.deny) {
    const std::uint16_t last = denying.ports().last;
    if (last != 0xffff && is_open(static_cast<std::uint16_t>(last + 1))) return static_cast<std::uint16_t>(last + 1);
  }
  return std::nullopt;
}

Status parse_all(const std::vector<std::string>& texts, std::string_view key, std::vector<NetRule>& out) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto rule = parse_net_rule(texts[i]);
    if (!rule) {
      Error error = std::move(rule).error();
      error.step = fmt::format("{}[{}]", key, i);
      return std::unexpected(std::move(error));
    }
    out.push_back(std::move(*rule));
  }
  return {};
}

}  // namespace

Decision RuleSet::decide_name(const HostName& name, std::uint16_t port) const {
  if (const NetRule* rule = find(deny, name, port)) return denied_by(*rule, shown(name, port));
  if (const NetRule* rule = find(allow, name, port)) return allowed_by(*rule);
  return denied_for(shown(name, port) + " is not in net.allow");
}

Decision RuleSet::decide_address(const IpAddress& address, std::uint16_t port) const {
  const IpAddress wanted = address.canonical();
  if (wanted.is_unspecified()) return denied_for(no_host(shown(wanted, port)));
  if (const NetRule* rule = find_denial(*this, wanted, port)) return denied_by(*rule, shown(wanted, port));
  if (const NetRule* rule = find(allow, wanted, port)) return allowed_by(*rule);
  return denied_for(shown(wanted, port) + " is not in net.allow");
}

Decision RuleSet::decide_resolved(const HostName& name, const IpAddress& address, std::uint16_t port) const {
  Decision by_name = decide_name(name, port);
  if (!by_name.allowed()) return by_name;
  const IpAddress there = address.canonical();
  const std::string what = fmt::format("{}, which {} resolves to,", shown(there, port), name.text());
  if (there.is_unspecified()) return denied_for(no_host(what));
  if (const NetRule* rule = find_denial(*this, there, port)) return denied_by(*rule, what);
  const AddressClass kind = classify(there);
  if (name.text() == "localhost") {
    if (kind == AddressClass::kLoopback) return by_name;
    return denied_for(what + " is not a loopback address");
  }
  if (kind == AddressClass::kPublic || find(allow, there, port) != nullptr) return by_name;
  return denied_for(fmt::format("{} is {} that net.allow does not name", what, to_string(kind)));
}

Decision RuleSet::decide_lookup(const HostName& name) const {
  std::optional<Decision> denied;
  for (const NetRule& rule : allow) {
    if (!rule.matches(name)) continue;
    if (open_port(*this, rule, name)) return allowed_by(rule);
    if (!denied) denied = decide_name(name, rule.ports().first);
  }
  return denied ? *denied : denied_for(name.text() + " is not in net.allow");
}

Result<std::vector<std::uint16_t>> RuleSet::ports(std::size_t at_most) const {
  std::vector<std::pair<unsigned, unsigned>> ranges;
  for (const NetRule& rule : allow) ranges.emplace_back(rule.ports().first, rule.ports().last);
  std::ranges::sort(ranges);
  std::size_t count = 0;
  unsigned next = 0;  // the lowest port that no range before had
  for (auto& [first, last] : ranges) {
    first = std::max(first, next);
    next = std::max(next, last + 1);
    if (first <= last) count += last - first + 1;
  }
  if (count > at_most) {
    return fail(ErrorCode::kInvalidInput, "net.allow", fmt::format("{} different ports are allowed", count),
                fmt::format("name at most {} ports in all", at_most));
  }
  std::vector<std::uint16_t> out;
  out.reserve(count);
  for (const auto& [first, last] : ranges) {
    for (unsigned port = first; port <= last; ++port) out.push_back(static_cast<std::uint16_t>(port));
  }
  return out;
}

Result<RuleSet> parse_rule_set(const std::vector<std::string>& allow, const std::vector<std::string>& deny) {
  RuleSet out;
  CLOCHE_TRY(parse_all(allow, "net.allow", out.allow));
  CLOCHE_TRY(parse_all(deny, "net.deny", out.deny));
  return out;
}

}  // namespace cloche::proto
