#include <linux/bpf_common.h>

#include <random>

#include "filter/test_support.h"

namespace cloche::filter {
namespace {

using namespace testing;

// Every instruction is paid for when the filter is installed, once per cell.
constexpr std::size_t kMaxInstructions = 196;

TEST(FilterCompile, StaysShort) {
  for (const Case& c : every_case()) {
    EXPECT_LE(c.program.size(), kMaxInstructions) << c.name();
    EXPECT_GE(c.program.size(), 20u) << c.name();
  }
}

TEST(FilterCompile, MakesProgramsThatTheKernelLoads) {
  for (const Case& c : every_case()) EXPECT_TRUE(is_loadable(c.program)) << c.name();
}

// The kernel's memory of always-allowed numbers understands these instructions and no others.
TEST(FilterCompile, UsesOnlyWhatTheKernelCanRemember) {
  for (const Case& c : every_case()) {
    for (const sock_filter& in : c.program) {
      switch (in.code) {
        case BPF_LD | BPF_W | BPF_ABS:
        case BPF_JMP | BPF_JA:
        case BPF_JMP | BPF_JEQ | BPF_K:
        case BPF_JMP | BPF_JGE | BPF_K:
        case BPF_JMP | BPF_JSET | BPF_K:
        case BPF_ALU | BPF_AND | BPF_K:
        case BPF_RET | BPF_K:
          break;
        default:
          ADD_FAILURE() << "instruction " << in.code << " in " << c.name();
      }
    }
  }
}

TEST(FilterCompile, MeansWhatTheTableSays) {
  for (const Case& c : every_case()) {
    for (const std::uint32_t number : interesting_numbers()) {
      const Call call{c.arch, number, {}};
      ASSERT_EQ(evaluate(c.program, call), interpret(c.table, c.arch, call)) << number << " on " << c.name();
    }
    for (const Rule& rule : c.table) {
      if (rule.clauses.empty()) continue;
      for (const Call& call : boundary_calls(rule, c.arch)) {
        ASSERT_EQ(evaluate(c.program, call), interpret(c.table, c.arch, call))
            << rule.name << " on " << c.name() << std::hex << " with 0x" << call.args[0] << " 0x" << call.args[1]
            << " 0x" << call.args[2] << " 0x" << call.args[3] << " 0x" << call.args[4];
      }
    }
  }
}

TEST(FilterCompile, NothingAtAllIsAllowedByAnEmptyTable) {
  const std::vector<sock_filter> program = compile({}, AUDIT_ARCH_X86_64);
  EXPECT_TRUE(is_loadable(program));
  EXPECT_EQ(evaluate(program, {AUDIT_ARCH_X86_64, 0, {}}), failing(ENOSYS));
  EXPECT_EQ(evaluate(program, {AUDIT_ARCH_X86_64, 0xffffffff, {}}), failing(ENOSYS));
  EXPECT_EQ(evaluate(program, {AUDIT_ARCH_AARCH64, 0, {}}), kKilled);
}

TEST(FilterCompile, CoversTheWholeRangeOfNumbers) {
  const std::vector<Rule> table = {{0, "first", "", {}, {ActionKind::kAllow, 0}},
                                   {0xffffffff, "last", "", {}, {ActionKind::kErrno, EPERM}}};
  const std::vector<sock_filter> program = compile(table, AUDIT_ARCH_X86_64);
  EXPECT_EQ(evaluate(program, {AUDIT_ARCH_X86_64, 0, {}}), kAllowed);
  EXPECT_EQ(evaluate(program, {AUDIT_ARCH_X86_64, 1, {}}), failing(ENOSYS));
  EXPECT_EQ(evaluate(program, {AUDIT_ARCH_X86_64, 0xfffffffe, {}}), failing(ENOSYS));
  EXPECT_EQ(evaluate(program, {AUDIT_ARCH_X86_64, 0xffffffff, {}}), failing(EPERM));
}

TEST(FilterCompile, TakesTheFirstRuleOfANumberInAnyOrder) {
  const std::vector<Rule> table = {{9, "nine", "", {}, {ActionKind::kErrno, EPERM}},
                                   {3, "three", "", {}, {ActionKind::kAllow, 0}},
                                   {9, "again", "", {}, {ActionKind::kAllow, 0}}};
  const std::vector<sock_filter> program = compile(table, AUDIT_ARCH_X86_64);
  EXPECT_EQ(evaluate(program, {AUDIT_ARCH_X86_64, 3, {}}), kAllowed);
  EXPECT_EQ(evaluate(program, {AUDIT_ARCH_X86_64, 9, {}}), failing(EPERM));
}

// A check of argument 6 or of 16 bits is our own mistake; leaving it out could allow what it was meant to stop.
TEST(FilterCompile, AMeaninglessCheckKillsEverything) {
  for (const ArgCheck& check :
       {ArgCheck{ArgCheck::Op::kEqual, 6, 32, ~0ull, 0}, ArgCheck{ArgCheck::Op::kEqual, 0, 16, ~0ull, 0}}) {
    const std::vector<Rule> table = {{1, "bad", "", {{{check}, {ActionKind::kErrno, EPERM}}}, {ActionKind::kAllow, 0}}};
    EXPECT_EQ(evaluate(compile(table, AUDIT_ARCH_X86_64), {AUDIT_ARCH_X86_64, 1, {}}), kKilled);
  }
}

Rule random_rule(std::uint32_t number, std::mt19937& random) {
  const auto action = [&]() -> Action {
    return {random() % 2 != 0 ? ActionKind::kAllow : ActionKind::kErrno, static_cast<std::uint16_t>(random() % 3)};
  };
  Rule rule{number, "", "", {}, action()};
  for (std::uint32_t c = random() % 4; c > 0; --c) {
    Clause clause{{}, action()};
    for (std::uint32_t k = random() % 4; k > 0; --k) {
      const bool is_masked = random() % 2 != 0;
      const std::uint64_t mask = (std::uint64_t{random() % 4} << 32) | (random() % 4);
      const std::uint64_t value = ((std::uint64_t{random() % 4} << 32) | (random() % 4)) & (is_masked ? mask : ~0ull);
      clause.all.push_back({is_masked ? ArgCheck::Op::kMaskedEqual : ArgCheck::Op::kEqual,
                            static_cast<std::uint8_t>(random() % 2), static_cast<std::uint8_t>(32 << (random() % 2)),
                            mask, value});
    }
    rule.clauses.push_back(std::move(clause));
  }
  return rule;
}

// Large tables put targets beyond the reach of a conditional jump.
TEST(FilterCompile, StaysRightWhenJumpsGetLong) {
  std::mt19937 random(1);
  for (int round = 0; round < 6; ++round) {
    std::vector<Rule> table;
    for (std::uint32_t number = 0; number < 150; ++number) {
      if (random() % 8 != 0) table.push_back(random_rule(number, random));
    }
    const std::vector<sock_filter> program = compile(table, AUDIT_ARCH_X86_64);
    ASSERT_TRUE(is_loadable(program));
    ASSERT_GT(program.size(), 300u) << "too short to need a long jump";
    for (std::uint32_t number = 0; number < 152; ++number) {
      for (int i = 0; i < 20; ++i) {
        Call call{AUDIT_ARCH_X86_64, number, {}};
        for (std::uint64_t& arg : call.args) arg = (std::uint64_t{random() % 4} << 32) | (random() % 4);
        ASSERT_EQ(evaluate(program, call), interpret(table, AUDIT_ARCH_X86_64, call)) << number;
      }
    }
  }
}

TEST(FilterCompile, AProgramTooLongForTheKernelKillsEverything) {
  std::vector<Rule> table;
  for (std::uint32_t number = 0; number < 9000; ++number) {
    table.push_back({number, "", "", {}, {ActionKind::kErrno, static_cast<std::uint16_t>(number % 5)}});
  }
  const std::vector<sock_filter> program = compile(table, AUDIT_ARCH_X86_64);
  EXPECT_TRUE(is_loadable(program));
  EXPECT_EQ(evaluate(program, {AUDIT_ARCH_X86_64, 0, {}}), kKilled);
}

}  // namespace
}  // namespace cloche::filter
