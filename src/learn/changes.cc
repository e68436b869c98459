#include "learn/changes.h"

#include <algorithm>

#include "policy/key_value.h"

namespace cloche::learn {
namespace {

// The smallest directory of the items that it lies in, or else its own.
std::string place_of(const std::string& path, const std::vector<Item>& items) {
  std::string out;
  for (const Item& item : items) {
    const bool closer = item.kind == Kind::kChange && path_covers(item.what, path) && item.what.size() > out.size();
    if (closer) out = item.what;
  }
  return out.empty() ? folder_of(path) : out;
}

bool changes_in(const std::string& place, const Changed& run) {
  return std::ranges::any_of(run.paths, [&](const std::string& path) { return path_covers(place, path); });
}

}  // namespace

MustChange::MustChange(const Changed& model, const std::vector<Item>& items)
    : known_(model.known), paths_(model.paths) {
  for (const std::string& path : paths_) places_.insert(place_of(path, items));
}

void MustChange::agree_with(const Changed& other) {
  if (!other.known) known_ = false;
  std::erase_if(paths_, [&](const std::string& path) { return !other.paths.contains(path); });
  for (const std::string& place : missing(other)) {
    if (!changes_in(folder_of(place), other)) continue;
    places_.erase(place);
    places_.insert(folder_of(place));
  }
}

bool MustChange::met_by(const Changed& other) const {
  if (!known_) return true;  // nothing is left out that could matter, so there is nothing to compare
  return other.known && std::ranges::includes(other.paths, paths_) && missing(other).empty();
}

std::vector<std::string> MustChange::missing(const Changed& other) const {
  std::vector<std::string> out;
  for (const std::string& place : places_) {
    if (!changes_in(place, other)) out.push_back(place);
  }
  return out;
}

bool MustChange::nearly_met_by(const Changed& other) const {
  return known_ && other.known && std::ranges::all_of(missing(other), [&](const std::string& place) {
           return changes_in(folder_of(place), other);
         });
}

}  // namespace cloche::learn
