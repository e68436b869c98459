#include <linux/audit.h>
#include <linux/seccomp.h>

#include <array>
#include <cerrno>
#include <utility>

#include "filter/filter.h"
#include "filter/table.h"

namespace cloche::filter {
namespace {

// Above every number in the table; the placing by number below replaces a sort on the way to every launch.
constexpr std::size_t kNumberLimit = 512;

Rule make_rule(const Entry& entry, std::uint32_t number, const Options& options) {
  Rule rule{number, entry.name, entry.reason, {}, {}};
  switch (entry.verdict) {
    case Verdict::kAllow:
      rule.action = {ActionKind::kAllow, 0};
      break;
    case Verdict::kDeny:
      rule.action = {ActionKind::kErrno, EPERM};
      break;
    case Verdict::kMissing:
      rule.action = {ActionKind::kErrno, ENOSYS};
      break;
    case Verdict::kGuarded: {
      GuardRules guard = guard_rules(entry.guard, options);
      rule.clauses = std::move(guard.clauses);
      rule.action = guard.action;
      break;
    }
  }
  return rule;
}

}  // namespace

std::uint32_t Action::encoded() const {
  switch (kind) {
    case ActionKind::kAllow:
      return SECCOMP_RET_ALLOW;
    case ActionKind::kErrno:
      return SECCOMP_RET_ERRNO | errno_value;
    case ActionKind::kNotify:
      return SECCOMP_RET_USER_NOTIF;
    case ActionKind::kKill:
      break;
  }
  return SECCOMP_RET_KILL_PROCESS;
}

std::array<Group, 7> groups() {
  return {files_group(), memory_group(), process_group(), time_group(), network_group(), ipc_group(), denied_group()};
}

std::int16_t number_on(const Entry& entry, std::uint32_t audit_arch) {
  if (audit_arch == AUDIT_ARCH_X86_64) return entry.x86_64;
  if (audit_arch == AUDIT_ARCH_AARCH64) return entry.aarch64;
  return kAbsent;
}

std::uint32_t native_arch() {
#if defined(__x86_64__)
  return AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
  return AUDIT_ARCH_AARCH64;
#else
#error "the filter has tables for x86_64 and aarch64 only"
#endif
}

std::vector<Rule> rules(std::uint32_t audit_arch, const Options& options) {
  std::array<const Entry*, kNumberLimit> by_number{};
  std::size_t count = 0;
  for (const Group& group : groups()) {
    for (const Entry& entry : group.entries) {
      const std::int16_t number = number_on(entry, audit_arch);
      if (number < 0 || static_cast<std::size_t>(number) >= kNumberLimit) continue;
      by_number[static_cast<std::size_t>(number)] = &entry;
      ++count;
    }
  }
  std::vector<Rule> table;
  table.reserve(count);
  for (std::uint32_t number = 0; number < kNumberLimit; ++number) {
    if (by_number[number] != nullptr) table.push_back(make_rule(*by_number[number], number, options));
  }
  return table;
}

}  // namespace cloche::filter
