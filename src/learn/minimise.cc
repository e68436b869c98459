#include "learn/minimise.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace cloche::learn {
namespace {

// Which turn of the strategy. What lets a guest do more comes first: what it covers is there still, and takes its
// place. A command starts in its workspace by itself, so the place where it starts goes after that: else the workspace
// would be needed for nothing but to start in.
int turn_of(const Item& item) {
  switch (item.kind) {
    case Kind::kEnv:
    case Kind::kUncover:  // while all that is changed covers it
      return 0;
    case Kind::kExecWritable:
      return 1;
    case Kind::kChange:
      return 2;
    case Kind::kCwd:
      return 3;
    case Kind::kRead:
    case Kind::kExec:
      return item.directory ? 4 : 5;
    case Kind::kHost:
    case Kind::kSocket:
    case Kind::kLoopback:
      break;
  }
  return 6;
}

// How deep it lies; what has no place among files lies nowhere.
std::ptrdiff_t depth_of(const Item& item) { return std::ranges::count(item.what, '/'); }

class Reduction {
 public:
  Reduction(const std::vector<Item>& items, const Trials& trials)
      : items_(items), trials_(trials), in_(items.size(), true) {}

  enum class Whole : std::uint8_t { kUnknown, kFails };  // without the whole set

  void reduce(std::span<const std::size_t> set, Whole whole = Whole::kUnknown) {
    if (set.empty()) return;
    if (whole == Whole::kUnknown) {
      if (!trials_.may_try()) {
        for (const std::size_t at : set) untried_.push_back(items_[at]);
        return;
      }
      for (const std::size_t at : set) in_[at] = false;
      if (trials_.succeeds(kept())) return;
      for (const std::size_t at : set) in_[at] = true;
    }
    if (set.size() == 1) return;
    const std::span<const std::size_t> first = set.first(set.size() / 2);
    reduce(first);
    // With all of the first half out, the second one is the set that failed.
    const bool all_out = std::ranges::none_of(first, [&](std::size_t at) { return in_[at]; });
    reduce(set.subspan(set.size() / 2), all_out ? Whole::kFails : Whole::kUnknown);
  }

  std::vector<Item> kept() const {
    std::vector<Item> out;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (in_[i]) out.push_back(items_[i]);
    }
    return out;
  }
  std::vector<Item> untried() { return std::move(untried_); }

 private:
  const std::vector<Item>& items_;
  const Trials& trials_;
  std::vector<bool> in_;
  std::vector<Item> untried_;
};

}  // namespace

Minimised minimise(const std::vector<Item>& items, const std::function<bool(const Item&)>& settled,
                   const Trials& trials) {
  constexpr int kTurns = 7;
  Reduction reduction(items, trials);
  for (int turn = 0; turn < kTurns; ++turn) {
    std::vector<std::size_t> set;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (turn_of(items[i]) == turn && !settled(items[i])) set.push_back(i);
    }
    // What is out before another is tried is never missed for what the other covers of it, so the wider goes first.
    std::ranges::stable_sort(set, {}, [&](std::size_t at) { return depth_of(items[at]); });
    reduction.reduce(set);
  }
  return {reduction.kept(), reduction.untried()};
}

}  // namespace cloche::learn
