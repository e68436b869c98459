// Offers: what one backend can promise on one host, guarantee by guarantee. `doctor` prints them, make_plan refuses or
// weakens by them: one table, so that the two can never disagree.
#pragma once

#include <string>
#include <vector>

#include "plan/host_facts.h"
#include "plan/plan.h"

namespace cloche {

struct Offer {
  Guarantee guarantee{};
  Standing standing = Standing::kAbsent;  // kWeakened: something, but less than the guarantee says
  std::string mechanism;                  // how, or what is missing
  std::string hint;                       // what to install or set; empty when held
  bool operator==(const Offer&) const = default;
};

// In the order of all_guarantees(), one each.
std::vector<Offer> offers(Backend backend, const HostFacts& host);

// Why a backend cannot start at all on this host (no user namespaces, no init, no bwrap); nullopt if it can.
struct Obstacle {
  std::string what;
  std::string hint;
  bool operator==(const Obstacle&) const = default;
};
std::optional<Obstacle> obstacle(Backend backend, const HostFacts& host);

}  // namespace cloche
