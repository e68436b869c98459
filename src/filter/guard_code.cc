#include "filter/guard_code.h"

#include <linux/bpf_common.h>
#include <linux/seccomp.h>

#include <algorithm>
#include <cstddef>
#include <span>

namespace cloche::filter {
namespace {

constexpr std::uint32_t kAllBits = 0xffffffff;

// What the accumulator holds when a test is made.
struct Load {
  std::uint32_t offset = 0;
  std::uint32_t mask = kAllBits;
  bool operator==(const Load&) const = default;
};

// One comparison of one half of an argument.
struct Test {
  Load load;
  std::uint16_t jump = BPF_JEQ;
  std::uint32_t k = 0;
  bool matches_when_taken = true;
  bool operator==(const Test&) const = default;
};

std::uint32_t half_offset(std::uint8_t index, std::size_t half) {
  // Both architectures are little-endian: the low half comes first.
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t) +
                                    half * sizeof(std::uint32_t));
}

Test make_test(std::uint32_t offset, std::uint32_t mask, std::uint32_t value) {
  if (mask == kAllBits) return {{offset, kAllBits}, BPF_JEQ, value, true};
  // Testing bits leaves the accumulator as it is, so that the next clause need not load again.
  if (value == 0 && mask != 0) return {{offset, kAllBits}, BPF_JSET, mask, false};
  if (value == mask && mask != 0 && (mask & (mask - 1)) == 0) return {{offset, kAllBits}, BPF_JSET, mask, true};
  return {{offset, mask}, BPF_JEQ, value, true};
}

std::vector<Test> make_tests(const Clause& clause) {
  std::vector<Test> tests;
  tests.reserve(clause.all.size() * 2);
  for (const ArgCheck& check : clause.all) {
    const std::uint64_t mask = check.op == ArgCheck::Op::kMaskedEqual ? check.mask : ~0ull;
    const auto high_mask = static_cast<std::uint32_t>(mask >> 32);
    const auto high_value = static_cast<std::uint32_t>(check.value >> 32);
    tests.push_back(make_test(half_offset(check.index, 0), static_cast<std::uint32_t>(mask),
                              static_cast<std::uint32_t>(check.value)));
    if (check.width == 64 && (high_mask != 0 || high_value != 0)) {
      tests.push_back(make_test(half_offset(check.index, 1), high_mask, high_value));
    }
  }
  return tests;
}

// Where a test leads: to another test, or to an action (clause_count stands for the rule's own).
struct Target {
  enum class Kind : std::uint8_t { kTest, kAction } kind = Kind::kAction;
  std::size_t index = 0;
};

struct Node {
  Test test;
  Target match;
  Target otherwise;
  bool is_reached = false;
  bool is_reached_unloaded = false;  // by someone whose accumulator holds something else
};

// The clauses as a graph of tests in which no path asks what an earlier test of its clause has answered.
class Graph {
 public:
  explicit Graph(const Rule& rule) {
    for (const Clause& clause : rule.clauses) {
      clauses_.push_back(make_tests(clause));
      first_node_.push_back(node_count_);
      node_count_ += clauses_.back().size();
    }
    nodes_.resize(node_count_);
    entry_ = walk(0, 0, {}, nullptr);
    for (std::size_t c = 0; c < clauses_.size(); ++c) link(c);
    mark_reached();
  }

  const Target& entry() const { return entry_; }
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  void link(std::size_t c) {
    const std::span<const Test> tests = clauses_[c];
    for (std::size_t t = 0; t < tests.size(); ++t) {
      Node& node = nodes_[first_node_[c] + t];
      node.test = tests[t];
      node.match = walk(c, t + 1, tests.first(t + 1), nullptr);
      node.otherwise = walk(c + 1, 0, tests.first(t), &tests[t]);
    }
  }

  // The first test from here on whose answer does not follow from those that matched and the one that did not.
  Target walk(std::size_t c, std::size_t t, std::span<const Test> matched, const Test* failed) const {
    for (; c < clauses_.size(); ++c, t = 0) {
      const std::vector<Test>& tests = clauses_[c];
      while (t < tests.size() && std::find(matched.begin(), matched.end(), tests[t]) != matched.end()) ++t;
      if (t == tests.size()) return {Target::Kind::kAction, c};
      const bool excluded = (failed != nullptr && *failed == tests[t]) ||
                            std::any_of(matched.begin(), matched.end(), [&](const Test& fact) {
                              return fact.load == tests[t].load && fact.jump == BPF_JEQ && tests[t].jump == BPF_JEQ &&
                                     fact.k != tests[t].k;
                            });
      if (!excluded) return {Target::Kind::kTest, first_node_[c] + t};
    }
    return {Target::Kind::kAction, clauses_.size()};
  }

  // Targets lie further on, so one pass suffices.
  void mark_reached() {
    if (entry_.kind == Target::Kind::kTest) nodes_[entry_.index].is_reached = true;
    if (entry_.kind == Target::Kind::kTest) nodes_[entry_.index].is_reached_unloaded = true;
    for (const Node& node : nodes_) {
      if (!node.is_reached) continue;
      for (const Target& target : {node.match, node.otherwise}) {
        if (target.kind != Target::Kind::kTest) continue;
        nodes_[target.index].is_reached = true;
        if (nodes_[target.index].test.load != node.test.load) nodes_[target.index].is_reached_unloaded = true;
      }
    }
  }

  std::vector<std::vector<Test>> clauses_;
  std::vector<std::size_t> first_node_;
  std::size_t node_count_ = 0;
  std::vector<Node> nodes_;
  Target entry_;
};

// A place to jump to, and a second way in for whoever has the right value loaded already.
struct Entrance {
  Label full = 0;
  Label loaded = 0;
};

}  // namespace

Label place_clauses(Assembler& assembler, const Rule& rule) {
  const Graph graph(rule);
  const std::vector<Node>& nodes = graph.nodes();
  std::vector<Entrance> entrances(nodes.size());

  const auto action = [&](std::size_t clause) {
    const Action& chosen = clause < rule.clauses.size() ? rule.clauses[clause].action : rule.action;
    return assembler.give(chosen.encoded());
  };
  const auto from = [&](const Node& node, const Target& target) {
    if (target.kind == Target::Kind::kAction) return action(target.index);
    const Entrance& entrance = entrances[target.index];
    return nodes[target.index].test.load == node.test.load ? entrance.loaded : entrance.full;
  };

  for (std::size_t i = nodes.size(); i-- > 0;) {
    const Node& node = nodes[i];
    if (!node.is_reached) continue;
    const Test& test = node.test;
    const Label match = from(node, node.match);
    const Label otherwise = from(node, node.otherwise);
    Label label = assembler.branch(test.jump, test.k, test.matches_when_taken ? match : otherwise,
                                   test.matches_when_taken ? otherwise : match);
    entrances[i] = {label, label};
    if (!node.is_reached_unloaded) continue;
    if (test.load.mask != kAllBits) label = assembler.before(label, BPF_ALU | BPF_AND | BPF_K, test.load.mask);
    entrances[i].full = assembler.before(label, BPF_LD | BPF_W | BPF_ABS, test.load.offset);
  }
  const Target& entry = graph.entry();
  return entry.kind == Target::Kind::kAction ? action(entry.index) : entrances[entry.index].full;
}

}  // namespace cloche::filter
