// What runs of a command changed, and what of it every run of it must change again. A write that goes to a place of the
// cell's own looks like one that succeeded: same exit code, same output, and nothing is left of it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "learn/item.h"

namespace cloche::learn {

struct Changed {
  std::set<std::string> paths;  // of the host: made, changed or removed in the end
  bool known = false;           // false: it could not be found out
};

// Names are compared and not contents, in which are times and orders. A name that two runs of the same do not share is
// one that was made up; of such ones anything in the same directory will do.
class MustChange {
 public:
  MustChange() = default;
  // From a run with everything in view, and the directories that are to be granted for it.
  MustChange(const Changed& model, const std::vector<Item>& items);

  // From another run that is known to succeed: names that it did not change are no longer asked for, and of places that
  // it did not change the directory around them is, if it changed something in that.
  void agree_with(const Changed& other);

  bool known() const { return known_; }
  bool nothing() const { return places_.empty(); }
  bool met_by(const Changed& other) const;
  // Only the places, whatever the names in them: for a run that is to tell which names are always the same.
  bool places_met_by(const Changed& other) const { return known_ && missing(other).empty(); }
  // The same, but for places beside which it changed something: git has a directory for each beginning of a name.
  bool nearly_met_by(const Changed& other) const;
  // Places of which the other run changed nothing.
  std::vector<std::string> missing(const Changed& other) const;

 private:
  bool known_ = false;
  std::set<std::string> paths_;
  std::set<std::string> places_;
};

}  // namespace cloche::learn
