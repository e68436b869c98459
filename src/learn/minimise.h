// Which of the items a command needs: found out by leaving them out. Knows nothing of runs; whoever asks tries.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "learn/item.h"

namespace cloche::learn {

struct Trials {
  // Whether the command succeeds with these items and no other.
  std::function<bool(const std::vector<Item>&)> succeeds;
  // False: no further trial.
  std::function<bool()> may_try;
};

struct Minimised {
  std::vector<Item> kept;
  std::vector<Item> untried;  // part of kept: there was no time to leave them out
};

// `items` are known to suffice. Sets are left out as a whole and halved where that fails; an item stays only if the
// command failed without it alone, or was not tried. `settled` ones stay untried.
Minimised minimise(const std::vector<Item>& items, const std::function<bool(const Item&)>& settled,
                   const Trials& trials);

}  // namespace cloche::learn
