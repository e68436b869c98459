// What runs of a command changed, and what of it every run of it must change again. A write that goes to a place of the
// cell's own looks like one that succeeded: same exit code, same output, and nothing is left of it. So does an archive
// that lacks what could not be read.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "learn/item.h"

namespace cloche::learn {

struct Content {
  std::uint64_t size = 0;  // of a file, or of a link's target
  std::string state;       // kind and mode, digest or target; of what was removed, that
  bool operator==(const Content&) const = default;
};

struct Changed {
  std::set<std::string> paths;                   // of the host: made, changed or removed in the end
  bool known = false;                            // false: it could not be found out
  std::map<std::string, Content> contents = {};  // of the same paths
};

// A name that two runs of the same do not share is one that was made up; of such ones anything in the same directory
// will do that has the same in it. What two runs of the same do not write alike is compared by its size, if at all.
class MustChange {
 public:
  MustChange() = default;
  // From a run with everything in view, and the directories that are to be granted for it.
  MustChange(const Changed& model, const std::vector<Item>& items);

  // From another run that is known to succeed: names that it did not change and contents that it did not write are no
  // longer asked for, and of places that it did not change the directory around them is, if it changed something in
  // that.
  void agree_with(const Changed& other);

  bool known() const { return known_; }
  bool nothing() const { return places_.empty(); }
  bool met_by(const Changed& other) const;
  // The same, whatever is in them.
  bool names_met_by(const Changed& other) const;
  // Only the places, whatever the names in them: for a run that is to tell which names are always the same.
  bool places_met_by(const Changed& other) const { return known_ && missing(other).empty(); }
  // The same, but for places beside which it changed something: git has a directory for each beginning of a name.
  bool nearly_met_by(const Changed& other) const;
  // Places of which the other run changed nothing.
  std::vector<std::string> missing(const Changed& other) const;
  // Paths that the other run changed to something else; of made-up ones the model's.
  std::vector<std::string> written_otherwise(const Changed& other) const;
  // What differs by itself.
  const std::set<std::string>& not_compared() const { return not_compared_; }

 private:
  using InFolder = std::pair<std::string, std::string>;  // a directory, and the state of something in it
  std::set<InFolder> made_up_in(const Changed& other) const;

  bool known_ = false;
  std::set<std::string> paths_;
  std::set<std::string> places_;
  std::map<std::string, Content> contents_;
  std::map<std::string, std::uint64_t> sizes_;  // of what is not compared, where that is the same
  std::map<InFolder, std::string> made_up_;     // to the model's names
  std::set<std::string> not_compared_;
};

}  // namespace cloche::learn
