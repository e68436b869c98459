// Classic BPF as seccomp takes it. A program is first checked as the kernel checks it before it loads; what would not
// load is judged to kill, so that a broken program can never look permissive.
#include <linux/bpf_common.h>
#include <linux/seccomp.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>

#include "filter/filter.h"

namespace cloche::filter {
namespace {

struct Machine {
  std::uint32_t a = 0;
  std::uint32_t x = 0;
  std::array<std::uint32_t, BPF_MEMWORDS> memory{};
};

bool is_alu(std::uint16_t code) { return BPF_CLASS(code) == BPF_ALU; }
bool is_jump(std::uint16_t code) { return BPF_CLASS(code) == BPF_JMP; }

bool is_known_alu(const sock_filter& in) {
  // The kernel matches whole codes: a stray bit is another instruction.
  const auto operation = static_cast<std::uint16_t>(in.code & ~(BPF_X | 0x07));
  if (in.code == (BPF_ALU | BPF_NEG)) return true;
  switch (operation) {
    case BPF_ADD:
    case BPF_SUB:
    case BPF_MUL:
    case BPF_AND:
    case BPF_OR:
    case BPF_XOR:
      return true;
    case BPF_DIV:
      return BPF_SRC(in.code) == BPF_X || in.k != 0;
    case BPF_LSH:
    case BPF_RSH:
      return BPF_SRC(in.code) == BPF_X || in.k < 32;
    default:
      return false;
  }
}

bool is_known_jump(const sock_filter& in, std::size_t remaining) {
  if (in.code == (BPF_JMP | BPF_JA)) return in.k < remaining;
  switch (in.code & ~(BPF_X | 0x07)) {
    case BPF_JEQ:
    case BPF_JGT:
    case BPF_JGE:
    case BPF_JSET:
      return in.jt < remaining && in.jf < remaining;
    default:
      return false;
  }
}

// `remaining` instructions follow this one.
bool is_known(const sock_filter& in, std::size_t remaining) {
  if (is_alu(in.code)) return is_known_alu(in);
  if (is_jump(in.code)) return is_known_jump(in, remaining);
  switch (in.code) {
    case BPF_LD | BPF_W | BPF_ABS:
      return in.k % sizeof(std::uint32_t) == 0 && in.k < sizeof(seccomp_data);
    case BPF_LD | BPF_W | BPF_LEN:
    case BPF_LDX | BPF_W | BPF_LEN:
    case BPF_LD | BPF_IMM:
    case BPF_LDX | BPF_IMM:
    case BPF_RET | BPF_K:
    case BPF_RET | BPF_A:
    case BPF_MISC | BPF_TAX:
    case BPF_MISC | BPF_TXA:
      return true;
    case BPF_LD | BPF_MEM:
    case BPF_LDX | BPF_MEM:
    case BPF_ST:
    case BPF_STX:
      return in.k < BPF_MEMWORDS;
    default:
      return false;
  }
}

// A load from memory that some path has not written would read the kernel's stack; such programs do not load.
bool reads_only_what_it_wrote(const std::vector<sock_filter>& program) {
  constexpr std::uint16_t kAll = 0xffff;
  std::vector<std::uint16_t> written_on_all_paths(program.size(), kAll);
  std::uint16_t written = 0;
  for (std::size_t pc = 0; pc < program.size(); ++pc) {
    const sock_filter& in = program[pc];
    written &= written_on_all_paths[pc];
    const auto meet = [&](std::size_t target) { written_on_all_paths[target] &= written; };
    if (in.code == BPF_ST || in.code == BPF_STX) {
      written = static_cast<std::uint16_t>(written | (1u << in.k));
    } else if (in.code == (BPF_LD | BPF_MEM) || in.code == (BPF_LDX | BPF_MEM)) {
      if ((written & (1u << in.k)) == 0) return false;
    } else if (in.code == (BPF_JMP | BPF_JA)) {
      meet(pc + 1 + in.k);
      written = kAll;
    } else if (is_jump(in.code)) {
      meet(pc + 1 + in.jt);
      meet(pc + 1 + in.jf);
      written = kAll;
    }
  }
  return true;
}

// Nothing when the operation ends the program: division by a register of zero returns 0.
std::optional<std::uint32_t> calculate(const sock_filter& in, const Machine& m) {
  const std::uint32_t operand = BPF_SRC(in.code) == BPF_X ? m.x : in.k;
  switch (BPF_OP(in.code)) {
    case BPF_ADD:
      return m.a + operand;
    case BPF_SUB:
      return m.a - operand;
    case BPF_MUL:
      return m.a * operand;
    case BPF_DIV:
      if (operand == 0) return std::nullopt;
      return m.a / operand;
    case BPF_AND:
      return m.a & operand;
    case BPF_OR:
      return m.a | operand;
    case BPF_XOR:
      return m.a ^ operand;
    case BPF_LSH:
      return m.a << (operand & 31);
    case BPF_RSH:
      return m.a >> (operand & 31);
    default:
      return 0u - m.a;  // BPF_NEG
  }
}

std::size_t jump_length(const sock_filter& in, const Machine& m) {
  const std::uint32_t operand = BPF_SRC(in.code) == BPF_X ? m.x : in.k;
  bool taken = false;
  switch (BPF_OP(in.code)) {
    case BPF_JA:
      return in.k;
    case BPF_JEQ:
      taken = m.a == operand;
      break;
    case BPF_JGT:
      taken = m.a > operand;
      break;
    case BPF_JGE:
      taken = m.a >= operand;
      break;
    default:
      taken = (m.a & operand) != 0;  // BPF_JSET
  }
  return taken ? in.jt : in.jf;
}

void move(const sock_filter& in, const seccomp_data& data, Machine& m) {
  switch (in.code) {
    case BPF_LD | BPF_W | BPF_ABS:
      std::memcpy(&m.a, reinterpret_cast<const char*>(&data) + in.k, sizeof(m.a));
      break;
    case BPF_LD | BPF_W | BPF_LEN:
      m.a = sizeof(seccomp_data);
      break;
    case BPF_LDX | BPF_W | BPF_LEN:
      m.x = sizeof(seccomp_data);
      break;
    case BPF_LD | BPF_IMM:
      m.a = in.k;
      break;
    case BPF_LDX | BPF_IMM:
      m.x = in.k;
      break;
    case BPF_LD | BPF_MEM:
      m.a = m.memory[in.k];
      break;
    case BPF_LDX | BPF_MEM:
      m.x = m.memory[in.k];
      break;
    case BPF_ST:
      m.memory[in.k] = m.a;
      break;
    case BPF_STX:
      m.memory[in.k] = m.x;
      break;
    case BPF_MISC | BPF_TAX:
      m.x = m.a;
      break;
    default:
      m.a = m.x;  // BPF_TXA
  }
}

}  // namespace

bool is_loadable(const std::vector<sock_filter>& program) {
  if (program.empty() || program.size() > BPF_MAXINSNS) return false;
  for (std::size_t pc = 0; pc < program.size(); ++pc) {
    if (!is_known(program[pc], program.size() - pc - 1)) return false;
  }
  return BPF_CLASS(program.back().code) == BPF_RET && reads_only_what_it_wrote(program);
}

std::uint32_t evaluate(const std::vector<sock_filter>& program, const Call& call) {
  if (!is_loadable(program)) return SECCOMP_RET_KILL_PROCESS;
  seccomp_data data{};
  data.nr = static_cast<int>(call.number);
  data.arch = call.arch;
  for (std::size_t i = 0; i < std::size(call.args); ++i) data.args[i] = call.args[i];

  Machine m;
  // Every jump goes forward, so this ends; the bound is there in case that ever stops being true.
  for (std::size_t pc = 0; pc < program.size(); ++pc) {
    const sock_filter& in = program[pc];
    if (in.code == (BPF_RET | BPF_K)) return in.k;
    if (in.code == (BPF_RET | BPF_A)) return m.a;
    if (is_alu(in.code)) {
      const std::optional<std::uint32_t> result = calculate(in, m);
      if (!result) return SECCOMP_RET_KILL_THREAD;
      m.a = *result;
    } else if (is_jump(in.code)) {
      pc += jump_length(in, m);
    } else {
      move(in, data, m);
    }
  }
  return SECCOMP_RET_KILL_PROCESS;
}

}  // namespace cloche::filter
