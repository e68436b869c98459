// Collection: removes the runs that limits choose, and what a killed collection left.
//
// A run is locked as a whole, renamed to a name that only collections look for, and then removed: at every moment it is
// a run or rubbish, and whoever is killed half-way leaves rubbish that the next collection takes first.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "store/limits.h"
#include "store/place.h"

namespace cloche::store {

struct Progress {
  const std::string& id;      // what is being removed
  std::uint64_t entries = 0;  // removed so far, of all
};
// Asked at every entry; false ends the collection where it is.
using GoOn = std::function<bool(const Progress&)>;

// Removes what a run that was killed left outside of the store; `directory` is the run's own, or -1 where it has none.
// With any error the run stays on record until the next collection: kRefused where somebody still uses it, ECANCELED
// where `go_on` said no, else what could not be removed.
using Sweep = std::function<Status(const std::string& id, int directory, const std::function<bool()>& go_on)>;

struct Collected {
  std::vector<Choice> removed;
  std::vector<std::string> in_use;  // ids that somebody holds
  std::vector<Error> failed;        // could not be removed
  std::size_t left = 0;             // runs that stay
  bool stopped = false;             // go_on said no

  Bytes freed() const;
};

// What collect() would remove.
Result<Collected> preview(const Place& place, const Limits& limits);
// One at a time; waits 2 seconds for another one and then says who that is.
Result<Collected> collect(const Place& place, const Limits& limits, const GoOn& go_on, const Sweep& sweep = {});

// After a run: at most once an hour, for a fifth of a second; what is left then is the next run's. Says nothing,
// because nothing that goes wrong here is the run's fault.
void collect_if_due(const Place& place, const std::map<std::string, std::string>& env, const Sweep& sweep = {});

}  // namespace cloche::store
