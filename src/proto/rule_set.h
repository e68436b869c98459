// What a run may reach: rules that allow, and rules that deny, which win.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "proto/net_rule.h"

namespace cloche::proto {

enum class Verdict { kAllowed, kDenied };

struct Decision {
  Verdict verdict = Verdict::kDenied;
  std::string rule;    // the text of the rule that decided; empty if it was the lack of one
  std::string reason;  // denied: one sentence for the guest and for the report

  bool allowed() const { return verdict == Verdict::kAllowed; }
  bool operator==(const Decision&) const = default;
};

struct RuleSet {
  std::vector<NetRule> allow;
  std::vector<NetRule> deny;

  // A connection to a name. Where the name leads is asked by decide_resolved().
  Decision decide_name(const HostName& name, std::uint16_t port) const;
  // A connection to an address that the guest itself named.
  Decision decide_address(const IpAddress& address, std::uint16_t port) const;
  // An address that the name resolved to. It must be public, unless a rule grants this address as such; a name is
  // whatever its owner's nameserver says, and may say 127.0.0.1. The name "localhost" is the other way round: it is
  // loopback and nothing else.
  Decision decide_resolved(const HostName& name, const IpAddress& address, std::uint16_t port) const;
  // Whether a name may be looked up: some port of it can be reached.
  Decision decide_lookup(const HostName& name) const;

  // Every port that some rule allows, in order; an error if there are more.
  Result<std::vector<std::uint16_t>> ports(std::size_t at_most) const;

  bool operator==(const RuleSet&) const = default;
};

// A rule that does not parse is named by its place, "net.allow[2]".
Result<RuleSet> parse_rule_set(const std::vector<std::string>& allow, const std::vector<std::string>& deny);

}  // namespace cloche::proto
