// The same rules given to libseccomp, and the two programs compared call by call. Where libseccomp cannot say what a
// rule says, the rule's own meaning stands in, and the test counts how often that happens.
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "filter/test_support.h"

namespace cloche::filter {
namespace {

using namespace testing;
using Context = std::unique_ptr<void, decltype(&seccomp_release)>;
using Program = std::vector<sock_filter>;

std::uint32_t their_action(const Action& action) {
  if (action.kind == ActionKind::kAllow) return SCMP_ACT_ALLOW;
  return action.kind == ActionKind::kErrno ? SCMP_ACT_ERRNO(action.errno_value) : SCMP_ACT_KILL_PROCESS;
}

Context make_context(std::uint32_t arch, const Action& otherwise) {
  Context context(seccomp_init(their_action(otherwise)), &seccomp_release);
  if (arch != seccomp_arch_native()) {
    EXPECT_EQ(seccomp_arch_add(context.get(), arch), 0);
    EXPECT_EQ(seccomp_arch_remove(context.get(), SCMP_ARCH_NATIVE), 0);
  }
  EXPECT_EQ(seccomp_attr_set(context.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), 0);
  return context;
}

Program export_program(const Context& context) {
  const int fd = memfd_create("filter", MFD_CLOEXEC);
  EXPECT_GE(fd, 0);
  EXPECT_EQ(seccomp_export_bpf(context.get(), fd), 0);
  Program program(static_cast<std::size_t>(lseek(fd, 0, SEEK_END)) / sizeof(sock_filter));
  const auto size = program.size() * sizeof(sock_filter);
  EXPECT_EQ(pread(fd, program.data(), size, 0), static_cast<ssize_t>(size));
  close(fd);
  EXPECT_TRUE(is_loadable(program)) << "libseccomp's own program looks broken to the evaluator";
  return program;
}

// A condition on each argument at most; "not equal" only where libseccomp compares as wide as the rule does.
struct Condition {
  std::uint64_t mask = 0;
  std::uint64_t value = 0;
  std::optional<std::uint64_t> unequal_to;
};
using Region = std::map<std::uint8_t, Condition>;

Condition as_condition(const ArgCheck& check) {
  const std::uint64_t width = check.width == 32 ? 0xffffffffull : ~0ull;
  const std::uint64_t mask = (check.op == ArgCheck::Op::kMaskedEqual ? check.mask : ~0ull) & width;
  return {mask, check.value & mask, std::nullopt};
}

enum class Narrowing { kDone, kEmpty, kInexpressible };

Narrowing narrow(Region& region, std::uint8_t index, const Condition& wanted) {
  const auto [found, is_new] = region.try_emplace(index, wanted);
  if (is_new) return Narrowing::kDone;
  Condition& held = found->second;
  if (held.unequal_to || wanted.unequal_to) {
    // "equals this and differs from that" is either nothing or the equality alone.
    const Condition& equal = held.unequal_to ? wanted : held;
    const Condition& unequal = held.unequal_to ? held : wanted;
    if (equal.unequal_to || equal.mask != ~0ull) return Narrowing::kInexpressible;
    if (equal.value == *unequal.unequal_to) return Narrowing::kEmpty;
    held = equal;
    return Narrowing::kDone;
  }
  if (((held.value ^ wanted.value) & held.mask & wanted.mask) != 0) return Narrowing::kEmpty;
  held.mask |= wanted.mask;
  held.value |= wanted.value;
  return Narrowing::kDone;
}

// The conditions that together mean "the check does not hold"; nothing when they would be too many to write down.
std::optional<std::vector<Condition>> negate(const ArgCheck& check) {
  const Condition condition = as_condition(check);
  if (condition.mask == ~0ull) return {{{0, 0, condition.value}}};
  if (std::popcount(condition.mask) > 4) return std::nullopt;
  std::vector<Condition> others;
  std::uint64_t value = condition.mask;
  while (true) {  // every subset of the mask
    if (value != condition.value) others.push_back({condition.mask, value, std::nullopt});
    if (value == 0) return others;
    value = (value - 1) & condition.mask;
  }
}

// regions minus an earlier clause; false when that cannot be said.
bool subtract(std::vector<Region>& regions, const Clause& earlier) {
  std::vector<Region> result;
  for (const Region& region : regions) {
    Region within = region;
    for (const ArgCheck& check : earlier.all) {
      Region probe = within;
      if (narrow(probe, check.index, as_condition(check)) == Narrowing::kEmpty) {
        result.push_back(within);  // the two do not meet: nothing to take away from here on
        within.clear();
        break;
      }
      const Condition held = within.contains(check.index) ? within.at(check.index) : Condition{};
      const Condition asked = as_condition(check);
      const bool is_certain = !held.unequal_to && (held.mask & asked.mask) == asked.mask;
      if (!is_certain) {
        const auto others = negate(check);
        if (!others) return false;
        for (const Condition& other : *others) {
          Region part = within;
          const Narrowing outcome = narrow(part, check.index, other);
          if (outcome == Narrowing::kInexpressible) return false;
          if (outcome == Narrowing::kDone) result.push_back(part);
        }
      }
      if (narrow(within, check.index, asked) == Narrowing::kInexpressible) return false;
    }
  }
  regions = std::move(result);
  return true;
}

bool add_region(const Context& context, int number, const Action& action, const Region& region) {
  std::vector<scmp_arg_cmp> conditions;
  for (const auto& [index, condition] : region) {
    if (condition.unequal_to) {
      conditions.push_back({index, SCMP_CMP_NE, *condition.unequal_to, 0});
    } else {
      conditions.push_back({index, SCMP_CMP_MASKED_EQ, condition.mask, condition.value});
    }
  }
  return seccomp_rule_add_array(context.get(), their_action(action), number, static_cast<unsigned>(conditions.size()),
                                conditions.data()) == 0;
}

// A program of libseccomp's for one guarded rule: its own action by default, its clauses as regions.
std::optional<Program> guarded_program(const Rule& rule, int number, std::uint32_t arch) {
  const Context context = make_context(arch, rule.action);
  for (std::size_t c = 0; c < rule.clauses.size(); ++c) {
    const Clause& clause = rule.clauses[c];
    if (clause.action == rule.action) continue;
    std::vector<Region> regions(1);
    for (const ArgCheck& check : clause.all) {
      if (narrow(regions[0], check.index, as_condition(check)) != Narrowing::kDone) return std::nullopt;
    }
    for (std::size_t e = 0; e < c; ++e) {
      if (rule.clauses[e].action == clause.action) continue;
      if (!subtract(regions, rule.clauses[e])) return std::nullopt;
    }
    for (const Region& region : regions) {
      if (!add_region(context, number, clause.action, region)) return std::nullopt;
    }
  }
  return export_program(context);
}

struct Opinion {
  std::uint32_t arch = 0;
  std::vector<Rule> table;
  Program plain;                             // the rules without argument checks
  std::map<std::uint32_t, Program> guarded;  // one per rule with them
  std::size_t inexpressible = 0;             // guarded rules that only the interpretation judges
  std::size_t unknown = 0;                   // calls newer than libseccomp

  std::uint32_t judge(const Call& call) const {
    if (const auto found = guarded.find(call.number); found != guarded.end()) return evaluate(found->second, call);
    const auto rule = std::find_if(table.begin(), table.end(),
                                   [&](const Rule& candidate) { return candidate.number == call.number; });
    const bool is_theirs = rule == table.end() || (rule->clauses.empty() && is_known(*rule));
    // libseccomp counts x32 as another architecture; ours answers ENOSYS.
    if (!is_theirs || call.number >= 0x40000000) return interpret(table, arch, call);
    return evaluate(plain, call);
  }
  static bool is_known(const Rule& rule) {
    return seccomp_syscall_resolve_name(std::string(rule.name).c_str()) != __NR_SCMP_ERROR;
  }
};

Opinion second_opinion(const Case& c) {
  const Action unknown_number{ActionKind::kErrno, ENOSYS};
  Opinion opinion{c.arch, c.table, {}, {}, 0, 0};
  const Context plain = make_context(c.arch, unknown_number);
  for (const Rule& rule : c.table) {
    const int number = seccomp_syscall_resolve_name(std::string(rule.name).c_str());
    if (number == __NR_SCMP_ERROR) {
      ++opinion.unknown;
    } else if (rule.clauses.empty()) {
      if (rule.action == unknown_number) continue;
      EXPECT_EQ(seccomp_rule_add_array(plain.get(), their_action(rule.action), number, 0, nullptr), 0) << rule.name;
    } else if (std::optional<Program> program = guarded_program(rule, number, c.arch)) {
      opinion.guarded.emplace(rule.number, std::move(*program));
    } else {
      ++opinion.inexpressible;
    }
  }
  opinion.plain = export_program(plain);
  return opinion;
}

// How many of the calls that matter the two judge differently.
std::size_t count_differences(const Program& program, const Opinion& opinion, std::string* first = nullptr) {
  std::size_t differences = 0;
  const auto compare = [&](const Call& call) {
    const std::uint32_t ours = evaluate(program, call);
    const std::uint32_t theirs = opinion.judge(call);
    if (ours == theirs) return;
    if (differences++ == 0 && first != nullptr) {
      *first = "call " + std::to_string(call.number) + " with " + std::to_string(call.args[0]) + ", " +
               std::to_string(call.args[1]) + ", " + std::to_string(call.args[2]) + ": ours " + std::to_string(ours) +
               ", theirs " + std::to_string(theirs);
    }
  };
  for (const std::uint32_t number : interesting_numbers()) compare({opinion.arch, number, {}});
  for (const std::uint32_t arch : {AUDIT_ARCH_I386 + 0u, AUDIT_ARCH_ARM + 0u, 0u}) compare({arch, 0, {}});
  for (const Rule& rule : opinion.table) {
    if (rule.clauses.empty()) continue;
    for (const Call& call : boundary_calls(rule, opinion.arch)) compare(call);
  }
  return differences;
}

TEST(FilterSecondOpinion, LibseccompAgreesOnEveryCall) {
  for (const Case& c : every_case()) {
    const Opinion opinion = second_opinion(c);
    std::string first;
    EXPECT_EQ(count_differences(c.program, opinion, &first), 0u) << c.name() << ": " << first;
    // Protocol lists need "not equal" on part of a register, which libseccomp lacks; nothing else may hide there.
    // prlimit64, whose exception lies inside an exception, and socket with inet.
    EXPECT_EQ(opinion.inexpressible, c.options.inet_sockets ? 2u : 1u) << c.name();
    EXPECT_LE(opinion.unknown, 15u) << c.name();
    EXPECT_GE(opinion.guarded.size(), 10u) << c.name();
  }
}

// The comparison must be able to fail: tables with one rule gone or turned round are all noticed.
TEST(FilterSecondOpinion, NoticesEveryMutationOfARule) {
  std::mt19937 random(20);
  for (const Case& c : default_cases()) {
    const Opinion opinion = second_opinion(c);
    for (int i = 0; i < 12; ++i) {
      const std::size_t victim = random() % c.table.size();
      std::vector<Rule> without = c.table;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(victim));
      const Action gone{ActionKind::kErrno, ENOSYS};
      if (c.table[victim].action != gone) {
        EXPECT_GT(count_differences(compile(without, c.arch), opinion), 0u) << c.table[victim].name << " removed";
      }
      std::vector<Rule> flipped = c.table;
      Action& action = flipped[victim].action;
      action = action.kind == ActionKind::kAllow ? Action{ActionKind::kErrno, EPERM} : Action{ActionKind::kAllow, 0};
      EXPECT_GT(count_differences(compile(flipped, c.arch), opinion), 0u) << c.table[victim].name << " flipped";
    }
  }
}

TEST(FilterSecondOpinion, NoticesEveryMutationOfAClause) {
  const Case c = make_case(AUDIT_ARCH_X86_64, {});
  const Opinion opinion = second_opinion(c);
  for (std::size_t r = 0; r < c.table.size(); ++r) {
    for (std::size_t k = 0; k < c.table[r].clauses.size(); ++k) {
      std::vector<Rule> dropped = c.table;
      dropped[r].clauses.erase(dropped[r].clauses.begin() + static_cast<std::ptrdiff_t>(k));
      EXPECT_GT(count_differences(compile(dropped, c.arch), opinion), 0u) << c.table[r].name << " clause " << k;
      std::vector<Rule> widened = c.table;  // the flaw of comparing 64 bits where the kernel takes 32
      ArgCheck& check = widened[r].clauses[k].all.front();
      if (check.width == 64 || check.op == ArgCheck::Op::kMaskedEqual) continue;
      check.width = 64;
      EXPECT_GT(count_differences(compile(widened, c.arch), opinion), 0u) << c.table[r].name << " clause " << k;
    }
  }
}

}  // namespace
}  // namespace cloche::filter
