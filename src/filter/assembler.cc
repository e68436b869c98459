#include "filter/assembler.h"

#include <linux/bpf_common.h>
#include <linux/seccomp.h>

#include <algorithm>

namespace cloche::filter {
namespace {

constexpr std::uint32_t kReach = 255;  // jt and jf have eight bits

}  // namespace

Assembler::Assembler() {
  reversed_.reserve(256);
  returns_.reserve(8);
}

Label Assembler::add(std::uint16_t code, std::uint8_t yes, std::uint8_t no, std::uint32_t k) {
  reversed_.push_back(sock_filter{code, yes, no, k});
  return static_cast<Label>(reversed_.size() - 1);
}

// From the instruction that is added next.
std::uint32_t Assembler::distance(Label target) const {
  return static_cast<std::uint32_t>(reversed_.size()) - target - 1;
}

Label Assembler::give(std::uint32_t value) {
  for (const Return& known : returns_) {
    if (known.value == value) return known.label;
  }
  const Label label = add(BPF_RET | BPF_K, 0, 0, value);
  returns_.push_back({value, label});
  return label;
}

// A return is as short as a jump to it, and the copy serves later branches as well.
Label Assembler::bring_near(Label target) {
  const sock_filter instruction = reversed_[target];
  if (instruction.code != (BPF_RET | BPF_K)) return add(BPF_JMP | BPF_JA, 0, 0, distance(target));
  for (Return& known : returns_) {
    if (known.value != instruction.k) continue;
    if (distance(known.label) > kReach) known.label = add(BPF_RET | BPF_K, 0, 0, instruction.k);
    return known.label;
  }
  return add(BPF_RET | BPF_K, 0, 0, instruction.k);
}

Label Assembler::branch(std::uint16_t jump, std::uint32_t k, Label yes, Label no) {
  // Bringing one target near can push the other out of reach, by one instruction; the second round settles it.
  while (distance(yes) > kReach || distance(no) > kReach) {
    if (distance(yes) > kReach) yes = bring_near(yes);
    if (distance(no) > kReach) no = bring_near(no);
  }
  return add(static_cast<std::uint16_t>(BPF_JMP | jump | BPF_K), static_cast<std::uint8_t>(distance(yes)),
             static_cast<std::uint8_t>(distance(no)), k);
}

Label Assembler::before(Label next, std::uint16_t code, std::uint32_t k) {
  if (distance(next) != 0) add(BPF_JMP | BPF_JA, 0, 0, distance(next));
  return add(code, 0, 0, k);
}

std::vector<sock_filter> Assembler::finish() && {
  if (reversed_.size() > BPF_MAXINSNS) return {sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS}};
  std::reverse(reversed_.begin(), reversed_.end());
  return std::move(reversed_);
}

}  // namespace cloche::filter
