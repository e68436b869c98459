// From rules to a program: runs of numbers with the same verdict become ranges, ranges the leaves of a search tree.
// Only loads, jumps, AND and returns of constants are emitted: the kernel (5.11 and newer) steps through exactly these
// when the filter is installed and remembers which numbers are always allowed, so those never run the program again.
#include <linux/seccomp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>

#include "filter/assembler.h"
#include "filter/filter.h"
#include "filter/guard_code.h"

namespace cloche::filter {
namespace {

constexpr std::uint32_t kUnknown = SECCOMP_RET_ERRNO | ENOSYS;
constexpr std::size_t kMaxExceptions = 3;  // longer chains of single comparisons would make the tree deep

// What happens once the number is known: one action, or a look at the arguments.
struct Outcome {
  std::uint32_t value = 0;
  const Rule* rule = nullptr;  // set when there are clauses
  std::optional<Label> label;
};

// Numbers from `first` up to the next range.
struct Range {
  std::uint32_t first = 0;
  std::size_t outcome = 0;
};

// A range, and single numbers inside it that differ: one comparison each instead of two.
struct Leaf {
  std::uint32_t first = 0;
  std::size_t outcome = 0;
  std::size_t exception_count = 0;
  std::array<Range, kMaxExceptions> exceptions{};
  std::uint32_t weight_before = 0;  // of all leaves to the left
};

class Compiler {
 public:
  explicit Compiler(const std::vector<Rule>& table) {
    outcomes_.reserve(32);
    std::vector<const Rule*> order;
    order.reserve(table.size());
    for (const Rule& rule : table) order.push_back(&rule);
    // Of equal numbers the one further ahead in the table comes first.
    const auto by_number = [](const Rule* a, const Rule* b) {
      return a->number != b->number ? a->number < b->number : a < b;
    };
    if (!std::is_sorted(order.begin(), order.end(), by_number)) std::sort(order.begin(), order.end(), by_number);
    make_ranges(order);
    make_leaves();
  }

  std::vector<sock_filter> run(std::uint32_t audit_arch) && {
    const Label tree = place(0, leaves_.size());
    const Label number = assembler_.before(tree, BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
    // The same number means another call on another architecture, so nothing can be said about it (32-bit entry).
    const Label other = assembler_.give(SECCOMP_RET_KILL_PROCESS);
    const Label arch = assembler_.branch(BPF_JEQ, audit_arch, number, other);
    assembler_.before(arch, BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
    return std::move(assembler_).finish();
  }

 private:
  std::size_t find_outcome(std::uint32_t value, const Rule* rule) {
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      const Outcome& known = outcomes_[i];
      if (known.value != value || (known.rule == nullptr) != (rule == nullptr)) continue;
      if (rule == nullptr || rule->clauses == known.rule->clauses) return i;
    }
    outcomes_.push_back({value, rule, std::nullopt});
    return outcomes_.size() - 1;
  }

  void add_range(std::uint32_t first, std::size_t outcome) {
    if (ranges_.empty() || ranges_.back().outcome != outcome) ranges_.push_back({first, outcome});
  }

  // Of several rules for a number the first one counts.
  void make_ranges(const std::vector<const Rule*>& order) {
    ranges_.reserve(order.size() + 1);
    const std::size_t unknown = find_outcome(kUnknown, nullptr);
    std::uint64_t next = 0;  // the first number that has no range yet; 2^32 when all have
    for (const Rule* rule : order) {
      if (rule->number < next) continue;
      if (rule->number > next) add_range(static_cast<std::uint32_t>(next), unknown);
      add_range(rule->number, find_outcome(rule->action.encoded(), rule->clauses.empty() ? nullptr : rule));
      next = std::uint64_t{rule->number} + 1;
    }
    if (next <= UINT32_MAX) add_range(static_cast<std::uint32_t>(next), unknown);
  }

  bool is_single(std::size_t range) const {
    return range + 1 < ranges_.size() && ranges_[range + 1].first == ranges_[range].first + 1;
  }

  // How many single numbers follow this range before its outcome comes back; 0 if that is not the picture.
  std::size_t singles_after(std::size_t range, std::size_t outcome, std::size_t room) const {
    for (std::size_t count = 1; count <= room && is_single(range + count); ++count) {
      if (ranges_[range + count + 1].outcome == outcome) return count;
    }
    return 0;
  }

  void make_leaves() {
    leaves_.reserve(ranges_.size());
    std::uint32_t weight = 0;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      Leaf leaf{ranges_[i].first, ranges_[i].outcome, 0, {}, weight};
      weight += weight_of(leaf.outcome);
      while (const std::size_t count = singles_after(i, leaf.outcome, kMaxExceptions - leaf.exception_count)) {
        for (std::size_t k = 1; k <= count; ++k) {
          leaf.exceptions[leaf.exception_count++] = ranges_[i + k];
          weight += weight_of(ranges_[i + k].outcome);
        }
        i += count + 1;
      }
      leaves_.push_back(leaf);
    }
    total_weight_ = weight;
  }

  // Calls with argument checks run the program every time, the others are remembered by the kernel; openat and ioctl
  // shall find their way quickly.
  std::uint32_t weight_of(std::size_t outcome) const { return outcomes_[outcome].rule != nullptr ? 4 : 1; }

  std::uint32_t weight_up_to(std::size_t leaf) const {
    return leaf < leaves_.size() ? leaves_[leaf].weight_before : total_weight_;
  }

  Label place(std::size_t begin, std::size_t end) {
    if (end - begin == 1) return place_leaf(leaves_[begin]);
    const std::uint32_t middle = (weight_up_to(begin) + weight_up_to(end)) / 2;
    const auto first = leaves_.begin() + static_cast<std::ptrdiff_t>(begin) + 1;
    const auto last = leaves_.begin() + static_cast<std::ptrdiff_t>(end) - 1;
    const auto found =
        std::partition_point(first, last, [middle](const Leaf& leaf) { return leaf.weight_before < middle; });
    const auto split = static_cast<std::size_t>(found - leaves_.begin());
    const Label right = place(split, end);
    const Label left = place(begin, split);
    return assembler_.branch(BPF_JGE, leaves_[split].first, right, left);
  }

  Label place_leaf(const Leaf& leaf) {
    Label label = place_outcome(leaf.outcome);
    for (std::size_t i = leaf.exception_count; i-- > 0;) {
      label = assembler_.branch(BPF_JEQ, leaf.exceptions[i].first, place_outcome(leaf.exceptions[i].outcome), label);
    }
    return label;
  }

  Label place_outcome(std::size_t index) {
    Outcome& outcome = outcomes_[index];
    if (outcome.rule == nullptr) return assembler_.give(outcome.value);
    if (!outcome.label) outcome.label = place_clauses(assembler_, *outcome.rule);
    return *outcome.label;
  }

  std::vector<Outcome> outcomes_;
  std::vector<Range> ranges_;
  std::vector<Leaf> leaves_;
  std::uint32_t total_weight_ = 0;
  Assembler assembler_;
};

bool is_well_posed(const ArgCheck& check) { return check.index < 6 && (check.width == 32 || check.width == 64); }

bool is_well_posed(const std::vector<Rule>& table) {
  for (const Rule& rule : table) {
    for (const Clause& clause : rule.clauses) {
      for (const ArgCheck& check : clause.all) {
        if (!is_well_posed(check)) return false;
      }
    }
  }
  return true;
}

}  // namespace

std::vector<sock_filter> compile(const std::vector<Rule>& rules, std::uint32_t audit_arch) {
  // A check that means nothing is our own bug; leaving it out could allow what it was meant to stop.
  if (!is_well_posed(rules)) return {sock_filter{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS}};
  return Compiler(rules).run(audit_arch);
}

}  // namespace cloche::filter
