// Puts classic BPF together from the end to the beginning: jumps only go forward, so every target is already placed
// when its jump is written, and its distance is known.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <vector>

namespace cloche::filter {

// A place in the program, counted from its end.
using Label = std::uint32_t;

class Assembler {
 public:
  Assembler();

  // A return of this value; one copy serves all who can reach it.
  Label give(std::uint32_t value);
  // `jump` is BPF_JEQ, BPF_JGE, BPF_JGT or BPF_JSET, compared with the constant k.
  Label branch(std::uint16_t jump, std::uint32_t k, Label yes, Label no);
  // An instruction that falls through into `next`.
  Label before(Label next, std::uint16_t code, std::uint32_t k);

  // The program, beginning at what was added last. One that the kernel would not take for its length becomes one that
  // kills at the first call.
  std::vector<sock_filter> finish() &&;

 private:
  struct Return {
    std::uint32_t value;
    Label label;
  };

  Label add(std::uint16_t code, std::uint8_t yes, std::uint8_t no, std::uint32_t k);
  std::uint32_t distance(Label target) const;
  Label bring_near(Label target);

  std::vector<sock_filter> reversed_;
  std::vector<Return> returns_;
};

}  // namespace cloche::filter
