// What the tests of this room share.
#pragma once

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "filter/filter.h"
#include "filter/interpret.h"

namespace cloche::filter::testing {

inline constexpr std::uint32_t kAllowed = SECCOMP_RET_ALLOW;
inline constexpr std::uint32_t kKilled = SECCOMP_RET_KILL_PROCESS;
constexpr std::uint32_t failing(int errno_value) { return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(errno_value); }

// One table with its program, and its name for messages.
struct Case {
  std::uint32_t arch = 0;
  Options options;
  std::vector<Rule> table;
  std::vector<sock_filter> program;

  std::string name() const {
    return std::string(arch == AUDIT_ARCH_X86_64 ? "x86_64" : "aarch64") + (options.inet_sockets ? " inet" : "") +
           (options.unix_sockets ? " unix" : "") + (options.exec_writable ? " exec" : "");
  }
  const Rule* find(std::string_view call) const {
    const auto found = std::find_if(table.begin(), table.end(), [&](const Rule& rule) { return rule.name == call; });
    return found == table.end() ? nullptr : &*found;
  }
  std::uint32_t judge(std::uint32_t number, std::initializer_list<std::uint64_t> args = {}) const {
    Call call{arch, number, {}};
    std::copy(args.begin(), args.end(), call.args);
    return evaluate(program, call);
  }
  // The verdict on a call by name; a call that the architecture lacks must be asked for by number.
  std::uint32_t judge(std::string_view call, std::initializer_list<std::uint64_t> args = {}) const {
    const Rule* rule = find(call);
    if (rule == nullptr) {
      ADD_FAILURE() << call << " is not in the table of " << name();
      return kAllowed;
    }
    return judge(rule->number, args);
  }
};

inline Case make_case(std::uint32_t arch, const Options& options) {
  Case result{arch, options, rules(arch, options), {}};
  result.program = compile(result.table, arch);
  return result;
}

inline std::vector<Case> every_case() {
  std::vector<Case> cases;
  for (const std::uint32_t arch : {AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64}) {
    for (unsigned bits = 0; bits < 8; ++bits) {
      cases.push_back(make_case(arch, {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0}));
    }
  }
  return cases;
}

inline std::vector<Case> default_cases() {
  return {make_case(AUDIT_ARCH_X86_64, {}), make_case(AUDIT_ARCH_AARCH64, {})};
}

// Calls of one number whose arguments lie on, beside and above everything the rule's clauses compare with, also with
// garbage in the half of the register that the kernel does not look at.
inline std::vector<Call> boundary_calls(const Rule& rule, std::uint32_t arch) {
  std::array<std::vector<std::uint64_t>, 6> values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::vector<std::uint64_t>& chosen = values[i];
    for (const Clause& clause : rule.clauses) {
      for (const ArgCheck& check : clause.all) {
        if (check.index != i) continue;
        for (const std::uint64_t value : {check.value, check.value + 1}) {
          chosen.insert(chosen.end(), {value, value | 1ull << 32});
        }
        if (check.op != ArgCheck::Op::kMaskedEqual) continue;
        // Of a wide mask the lowest bits stand for the rest.
        const bool is_wide = std::popcount(check.mask) > 16;
        for (std::uint64_t bit = 1; bit != 0; bit <<= 1) {
          if ((check.mask & bit) != 0 && !(is_wide && bit > 16)) chosen.push_back(check.value ^ bit);
        }
      }
    }
    if (!chosen.empty()) chosen.insert(chosen.end(), {0, ~0ull, 0xffffffffull});
    if (chosen.empty()) chosen.push_back(0xdeadbeefcafef00d);
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  }
  std::vector<Call> calls{Call{arch, rule.number, {}}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::vector<Call> next;
    next.reserve(calls.size() * values[i].size());
    for (const Call& call : calls) {
      for (const std::uint64_t value : values[i]) {
        next.push_back(call);
        next.back().args[i] = value;
      }
    }
    calls = std::move(next);
  }
  return calls;
}

// Numbers around the tables: all small ones, x32 ones, and the ends of the range.
inline std::vector<std::uint32_t> interesting_numbers() {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t number = 0; number < 1024; ++number) numbers.push_back(number);
  for (std::uint32_t number = 0; number < 600; number += 7) numbers.push_back(0x40000000 + number);
  for (const std::uint32_t number :
       {0x3fffffffu, 0x40000000u, 0x40000207u, 0x7fffffffu, 0x80000000u, 0xfffffffeu, 0xffffffffu}) {
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace cloche::filter::testing
