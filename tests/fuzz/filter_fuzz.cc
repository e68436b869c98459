// Two laws, chosen by the first byte. Any bytes taken for a program are judged without harm, and to a kill when they
// would not load. Any rule table compiles to a program that means what the table says.
#include <linux/audit.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "filter/filter.h"
#include "filter/interpret.h"

namespace {

using namespace cloche::filter;

// Hands the input out piece by piece; zeros when it is used up.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  template <typename T>
  T take() {
    T value{};
    const std::size_t count = sizeof(T) < size_ ? sizeof(T) : size_;
    std::memcpy(&value, data_, count);
    data_ += count;
    size_ -= count;
    return value;
  }
  bool is_empty() const { return size_ == 0; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

void check(const std::vector<Rule>& table, const std::vector<sock_filter>& program, const Call& call) {
  if (evaluate(program, call) != interpret(table, AUDIT_ARCH_X86_64, call)) std::abort();
}

Call take_call(Input& input) {
  Call call{AUDIT_ARCH_X86_64, input.take<std::uint32_t>(), {}};
  for (std::uint64_t& arg : call.args) arg = input.take<std::uint64_t>();
  return call;
}

void fuzz_evaluate(Input& input) {
  const Call call = take_call(input);
  std::vector<sock_filter> program;
  while (!input.is_empty() && program.size() <= BPF_MAXINSNS) program.push_back(input.take<sock_filter>());
  const std::uint32_t verdict = evaluate(program, call);
  if (!is_loadable(program) && verdict != SECCOMP_RET_KILL_PROCESS) std::abort();
}

Action take_action(Input& input) {
  const auto byte = input.take<std::uint8_t>();
  return {static_cast<ActionKind>(byte % 3), static_cast<std::uint16_t>(byte >> 4)};
}

// Small values meet each other, and with them the interesting paths, far more often than random ones.
std::uint64_t take_value(Input& input) {
  const auto byte = input.take<std::uint8_t>();
  const std::uint64_t value = byte & 7;
  return (byte & 0x80) != 0 ? value << 32 : (byte & 0x40) != 0 ? (value << 32) | value : value;
}

Rule take_rule(Input& input, std::uint32_t number) {
  Rule rule{number, "", "", {}, take_action(input)};
  const auto shape = input.take<std::uint8_t>();
  for (int c = 0; c < (shape & 3); ++c) {
    Clause clause{{}, take_action(input)};
    const auto count = input.take<std::uint8_t>() & 3;
    for (int k = 0; k < count; ++k) {
      const auto kind = input.take<std::uint8_t>();
      clause.all.push_back({(kind & 1) != 0 ? ArgCheck::Op::kMaskedEqual : ArgCheck::Op::kEqual,
                            static_cast<std::uint8_t>((kind >> 2) % 6),
                            static_cast<std::uint8_t>((kind & 2) != 0 ? 64 : 32), take_value(input),
                            take_value(input)});
    }
    rule.clauses.push_back(std::move(clause));
  }
  return rule;
}

// The numbers around a rule, with arguments on and beside what each of its checks compares with.
void check_around(const std::vector<Rule>& table, const std::vector<sock_filter>& program, const Rule& rule) {
  Call call{AUDIT_ARCH_X86_64, rule.number, {}};
  check(table, program, call);
  for (const Clause& clause : rule.clauses) {
    for (const ArgCheck& test : clause.all) {
      for (const std::uint64_t value : {test.value, test.value ^ 1, test.value | std::uint64_t{1} << 32, test.mask}) {
        call.args[test.index] = value;
        check(table, program, call);
      }
      call.args[test.index] = test.value;
    }
  }
  for (const std::uint32_t number : {rule.number - 1, rule.number + 1}) {
    call.number = number;
    check(table, program, call);
  }
}

void fuzz_compile(Input& input) {
  std::vector<Rule> table;
  std::uint32_t number = 0;
  while (!input.is_empty() && table.size() < 120) {
    const auto step = input.take<std::uint8_t>();
    // Mostly neighbours, at times a leap, so that tables are neither all gaps nor all rules.
    number += (step & 0xc0) == 0xc0 ? std::uint32_t{input.take<std::uint32_t>()} : step & 3;
    table.push_back(take_rule(input, number));
  }
  const std::vector<sock_filter> program = compile(table, AUDIT_ARCH_X86_64);
  if (!is_loadable(program)) std::abort();
  for (const Rule& rule : table) check_around(table, program, rule);
  for (const std::uint32_t edge : {0u, 0x40000000u, 0xffffffffu}) check(table, program, {AUDIT_ARCH_X86_64, edge, {}});
  check(table, program, {AUDIT_ARCH_AARCH64, 0, {}});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  if (input.take<std::uint8_t>() % 2 == 0) {
    fuzz_evaluate(input);
  } else {
    fuzz_compile(input);
  }
  return 0;
}
