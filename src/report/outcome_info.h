// OutcomeInfo: everything fixed about a kind of outcome, in one table. Exit codes, hints, the summary line and the
// documentation all read it, so they cannot drift apart (X8: each limit has its own outcome).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace cloche {

enum class Severity : std::uint8_t {
  kGood,     // the guest exited with 0
  kGuest,    // the guest failed by itself, or the caller stopped it
  kStopped,  // a limit, the filter, a refusal or a failure of ours
};

struct OutcomeInfo {
  OutcomeKind kind;
  std::string_view name;
  int fixed_exit_code;         // -1: depends on the guest
  std::string_view exit_text;  // for the documentation: "124", "128 + signal"
  std::string_view limit;      // the policy's key, "limits.wall", or the table that has it; empty: no limit
  std::string_view hint;       // what to change when the report itself has no hint
  std::string_view decided;    // for the documentation: what makes it this outcome
};

const OutcomeInfo& info(OutcomeKind);
const std::array<OutcomeInfo, kOutcomeKindCount>& all_outcomes();
Severity severity(const Outcome&);
// The keys of the policy that an outcome of this kind may name, and the one that this outcome does; empty: none.
std::vector<std::string_view> limit_keys(const OutcomeInfo&);
std::string_view limit_of(const Outcome&);

}  // namespace cloche
