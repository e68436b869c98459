// Doctor: what this host can give, tier by tier and guarantee by guarantee, and what to change for more. Pure: made
// from HostFacts with the same offers that make_plan decides by.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/host_facts.h"
#include "plan/offers.h"
#include "policy/policy.h"
#include "report/render.h"

namespace cloche {

struct DoctorEntry {
  Tier tier{};
  std::optional<Backend> backend;    // nullopt: this tier is not in this version
  std::optional<Obstacle> obstacle;  // why it cannot start here
  std::vector<Offer> offers;         // what it gives, or would give without the obstacle
  bool operator==(const DoctorEntry&) const = default;

  bool usable() const { return backend.has_value() && !obstacle.has_value(); }
};

struct DoctorReport {
  HostFacts host;
  std::vector<DoctorEntry> entries;  // by tier; backend none last
  bool operator==(const DoctorReport&) const = default;
};

DoctorReport examine(const HostFacts& host);

std::string render(const DoctorReport& report, Colour colour);  // at most 100 columns
std::string to_json(const DoctorReport& report);

}  // namespace cloche
