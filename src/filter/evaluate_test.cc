#include <linux/bpf_common.h>

#include "filter/test_support.h"

namespace cloche::filter {
namespace {

using namespace testing;
using Program = std::vector<sock_filter>;

constexpr std::uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS;
constexpr std::uint16_t kReturn = BPF_RET | BPF_K;
constexpr std::uint16_t kReturnA = BPF_RET | BPF_A;

sock_filter op(int code, std::uint32_t k = 0, int jt = 0, int jf = 0) {
  return {static_cast<std::uint16_t>(code), static_cast<std::uint8_t>(jt), static_cast<std::uint8_t>(jf), k};
}

const Call kCall{AUDIT_ARCH_X86_64, 42, {0x1111111122222222, 2, 3, 4, 5, 0xaaaaaaaabbbbbbbb}};

TEST(FilterEvaluate, LoadsEveryFieldOfTheCall) {
  EXPECT_EQ(evaluate({op(kLoad, 0), op(kReturnA)}, kCall), 42u);
  EXPECT_EQ(evaluate({op(kLoad, 4), op(kReturnA)}, kCall), AUDIT_ARCH_X86_64);
  EXPECT_EQ(evaluate({op(kLoad, 8), op(kReturnA)}, kCall), 0u) << "the instruction pointer";
  EXPECT_EQ(evaluate({op(kLoad, 16), op(kReturnA)}, kCall), 0x22222222u);
  EXPECT_EQ(evaluate({op(kLoad, 20), op(kReturnA)}, kCall), 0x11111111u);
  EXPECT_EQ(evaluate({op(kLoad, 60), op(kReturnA)}, kCall), 0xaaaaaaaau);
  EXPECT_EQ(evaluate({op(BPF_LD | BPF_W | BPF_LEN), op(kReturnA)}, kCall), 64u);
}

TEST(FilterEvaluate, CalculatesAsTheKernelDoes) {
  const auto alu = [](int operation, std::uint32_t a, std::uint32_t k) {
    const std::uint32_t constant =
        evaluate({op(BPF_LD | BPF_IMM, a), op(BPF_ALU | operation | BPF_K, k), op(kReturnA)}, kCall);
    const std::uint32_t by_register = evaluate(
        {op(BPF_LDX | BPF_IMM, k), op(BPF_LD | BPF_IMM, a), op(BPF_ALU | operation | BPF_X), op(kReturnA)}, kCall);
    EXPECT_EQ(constant, by_register);
    return constant;
  };
  EXPECT_EQ(alu(BPF_ADD, 0xffffffff, 2), 1u);
  EXPECT_EQ(alu(BPF_SUB, 1, 2), 0xffffffffu);
  EXPECT_EQ(alu(BPF_MUL, 7, 6), 42u);
  EXPECT_EQ(alu(BPF_DIV, 43, 6), 7u);
  EXPECT_EQ(alu(BPF_AND, 0xff00, 0x0ff0), 0x0f00u);
  EXPECT_EQ(alu(BPF_OR, 0xff00, 0x00f0), 0xfff0u);
  EXPECT_EQ(alu(BPF_XOR, 0xff00, 0x0ff0), 0xf0f0u);
  EXPECT_EQ(alu(BPF_LSH, 1, 31), 0x80000000u);
  EXPECT_EQ(alu(BPF_RSH, 0x80000000, 31), 1u);
  EXPECT_EQ(evaluate({op(BPF_LD | BPF_IMM, 1), op(BPF_ALU | BPF_NEG), op(kReturnA)}, kCall), 0xffffffffu);
}

TEST(FilterEvaluate, DivisionByARegisterOfZeroKillsTheThread) {
  EXPECT_EQ(evaluate({op(BPF_ALU | BPF_DIV | BPF_X), op(kReturn, kAllowed)}, kCall), SECCOMP_RET_KILL_THREAD);
}

TEST(FilterEvaluate, JumpsAsTheKernelDoes) {
  const auto taken = [](int jump, std::uint32_t k) {
    return evaluate({op(kLoad, 0), op(BPF_JMP | jump | BPF_K, k, 1, 0), op(kReturn, 0), op(kReturn, 1)}, kCall) == 1;
  };
  EXPECT_TRUE(taken(BPF_JEQ, 42));
  EXPECT_FALSE(taken(BPF_JEQ, 43));
  EXPECT_FALSE(taken(BPF_JGT, 42));
  EXPECT_TRUE(taken(BPF_JGT, 41));
  EXPECT_TRUE(taken(BPF_JGE, 42));
  EXPECT_FALSE(taken(BPF_JGE, 43));
  EXPECT_TRUE(taken(BPF_JSET, 0x82));
  EXPECT_FALSE(taken(BPF_JSET, 0x85));
  EXPECT_EQ(evaluate({op(BPF_JMP | BPF_JA, 1), op(kReturn, 7), op(kReturn, 8)}, kCall), 8u);
}

TEST(FilterEvaluate, MovesThroughMemoryAndTheIndexRegister) {
  EXPECT_EQ(evaluate({op(kLoad, 0), op(BPF_ST, 15), op(BPF_LD | BPF_IMM, 0), op(BPF_LDX | BPF_MEM, 15),
                      op(BPF_MISC | BPF_TXA), op(kReturnA)},
                     kCall),
            42u);
  EXPECT_EQ(
      evaluate({op(kLoad, 0), op(BPF_MISC | BPF_TAX), op(BPF_STX, 0), op(BPF_LD | BPF_MEM, 0), op(kReturnA)}, kCall),
      42u);
}

TEST(FilterEvaluate, KillsWhatTheKernelWouldNotLoad) {
  const Program malformed[] = {
      {},
      {op(kLoad, 0)},                                                   // runs off the end
      {op(kReturn, kAllowed), op(kLoad, 0)},                            // does not end in a return
      {op(kLoad, 2), op(kReturn, kAllowed)},                            // not aligned
      {op(kLoad, 64), op(kReturn, kAllowed)},                           // behind the data
      {op(kLoad, 0xfffffffc), op(kReturn, kAllowed)},                   // far behind the data
      {op(BPF_LD | BPF_B | BPF_ABS, 0), op(kReturn, kAllowed)},         // byte loads are refused
      {op(BPF_LD | BPF_W | BPF_IND, 0), op(kReturn, kAllowed)},         // indirect loads are refused
      {op(BPF_JMP | BPF_JA, 1), op(kReturn, kAllowed)},                 // one too far
      {op(BPF_JMP | BPF_JA, 0xffffffff), op(kReturn, kAllowed)},        // would go backwards
      {op(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0), op(kReturn, kAllowed)},  // jt out of the program
      {op(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1), op(kReturn, kAllowed)},  // jf out of the program
      {op(BPF_JMP | 0x50, 0), op(kReturn, kAllowed)},                   // no such jump
      {op(BPF_ALU | BPF_DIV | BPF_K, 0), op(kReturn, kAllowed)},        // division by zero
      {op(BPF_ALU | BPF_LSH | BPF_K, 32), op(kReturn, kAllowed)},       // shift too wide
      {op(BPF_ALU | 0x90 | BPF_K, 3), op(kReturn, kAllowed)},           // modulo: not in seccomp
      {op(BPF_LD | BPF_MEM, 0), op(kReturnA)},                          // memory never written
      {op(BPF_ST, 16), op(kReturn, kAllowed)},                          // memory out of range
      {op(kLoad, 0), op(BPF_JMP | BPF_JEQ | BPF_K, 42, 1, 0), op(BPF_ST, 1), op(BPF_LD | BPF_MEM, 1), op(kReturnA)},
      {op(0xffff, 0), op(kReturn, kAllowed)},
      Program(BPF_MAXINSNS + 1, op(kReturn, kAllowed)),
  };
  for (std::size_t i = 0; i < std::size(malformed); ++i) {
    EXPECT_FALSE(is_loadable(malformed[i])) << i;
    EXPECT_EQ(evaluate(malformed[i], kCall), kKilled) << i;
  }
  EXPECT_EQ(evaluate(Program(BPF_MAXINSNS, op(kReturn, kAllowed)), kCall), kAllowed);
}

}  // namespace
}  // namespace cloche::filter
