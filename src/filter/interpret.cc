#include "filter/interpret.h"

#include <linux/seccomp.h>

#include <algorithm>
#include <cerrno>

namespace cloche::filter {
namespace {

bool matches(const ArgCheck& check, const Call& call) {
  const std::uint64_t width = check.width == 32 ? 0xffffffffull : ~0ull;
  const std::uint64_t mask = check.op == ArgCheck::Op::kMaskedEqual ? check.mask : ~0ull;
  return (call.args[check.index] & mask & width) == (check.value & width);
}

bool matches(const Clause& clause, const Call& call) {
  return std::all_of(clause.all.begin(), clause.all.end(), [&](const ArgCheck& check) { return matches(check, call); });
}

}  // namespace

std::uint32_t interpret(const std::vector<Rule>& rules, std::uint32_t audit_arch, const Call& call) {
  if (call.arch != audit_arch) return SECCOMP_RET_KILL_PROCESS;
  const auto rule =
      std::find_if(rules.begin(), rules.end(), [&](const Rule& candidate) { return candidate.number == call.number; });
  if (rule == rules.end()) return SECCOMP_RET_ERRNO | ENOSYS;
  const auto clause = std::find_if(rule->clauses.begin(), rule->clauses.end(),
                                   [&](const Clause& candidate) { return matches(candidate, call); });
  return (clause == rule->clauses.end() ? rule->action : clause->action).encoded();
}

}  // namespace cloche::filter
