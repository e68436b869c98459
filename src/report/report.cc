#include "report/report.h"

#include <array>

#include "report/outcome_info.h"

namespace cloche {
namespace {

constexpr std::array<std::string_view, kStandingCount> kStandings = {"held", "weakened", "absent"};

}  // namespace

std::string_view to_string(OutcomeKind kind) { return info(kind).name; }

std::optional<OutcomeKind> outcome_kind_from(std::string_view name) {
  for (const OutcomeInfo& row : all_outcomes()) {
    if (row.name == name) return row.kind;
  }
  return std::nullopt;
}

int exit_code(const Outcome& outcome) {
  switch (outcome.kind) {
    // Masked as the kernel does it, so that no value from elsewhere can turn into another meaning.
    case OutcomeKind::kExited:
      return outcome.code & 0xff;
    case OutcomeKind::kSignaled:
      return 128 + (outcome.signal & 0x7f);
    default:
      return info(outcome.kind).fixed_exit_code;
  }
}

bool failed_by_itself(const Report& report) {
  const OutcomeKind kind = report.outcome.kind;
  return (kind == OutcomeKind::kExited || kind == OutcomeKind::kSignaled) && exit_code(report.outcome) != 0;
}

std::string_view to_string(Standing standing) { return kStandings.at(static_cast<std::size_t>(standing)); }

std::optional<Standing> standing_from(std::string_view name) {
  for (std::size_t i = 0; i < kStandings.size(); ++i) {
    if (kStandings[i] == name) return static_cast<Standing>(i);
  }
  return std::nullopt;
}

}  // namespace cloche
