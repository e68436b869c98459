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
    : known_(model.known), paths_(model.paths), contents_(model.contents) {
  for (const std::string& path : paths_) places_.insert(place_of(path, items));
}

// Names that the other run has and that are not asked for.
std::set<MustChange::InFolder> MustChange::made_up_in(const Changed& other) const {
  std::set<InFolder> out;
  for (const auto& [path, content] : other.contents) {
    if (!paths_.contains(path)) out.emplace(folder_of(path), content.state);
  }
  return out;
}

void MustChange::agree_with(const Changed& other) {
  if (!other.known) known_ = false;
  for (const std::string& path : written_otherwise(other)) {
    not_compared_.insert(path);
    const auto now = other.contents.find(path);
    if (now == other.contents.end()) continue;
    const auto exact = contents_.find(path);
    const bool same_size = exact != contents_.end() && exact->second.size == now->second.size;
    if (exact != contents_.end()) contents_.erase(exact);
    sizes_.erase(path);
    if (same_size) sizes_.emplace(path, now->second.size);
  }
  std::erase_if(made_up_, [&](const auto& one) { return not_compared_.contains(one.second); });
  const std::set<InFolder> theirs = made_up_in(other);
  for (const std::string& path : paths_) {
    if (other.paths.contains(path)) continue;
    const auto exact = contents_.find(path);
    const bool by_content = exact != contents_.end() && theirs.contains({folder_of(path), exact->second.state});
    if (by_content) made_up_.emplace(InFolder{folder_of(path), exact->second.state}, path);
    if (!by_content) not_compared_.insert(path);
    contents_.erase(path);
    sizes_.erase(path);
  }
  std::erase_if(paths_, [&](const std::string& path) { return !other.paths.contains(path); });
  for (const std::string& place : missing(other)) {
    if (!changes_in(folder_of(place), other)) continue;
    places_.erase(place);
    places_.insert(folder_of(place));
  }
}

bool MustChange::met_by(const Changed& other) const {
  return names_met_by(other) && (!known_ || written_otherwise(other).empty());
}

bool MustChange::names_met_by(const Changed& other) const {
  if (!known_) return true;  // nothing is left out that could matter, so there is nothing to compare
  return other.known && std::ranges::includes(other.paths, paths_) && missing(other).empty();
}

std::vector<std::string> MustChange::written_otherwise(const Changed& other) const {
  std::vector<std::string> out;
  for (const auto& [path, content] : other.contents) {
    const auto exact = contents_.find(path);
    const auto size = sizes_.find(path);
    const bool differs = (exact != contents_.end() && exact->second != content) ||
                         (size != sizes_.end() && size->second != content.size);
    if (differs) out.push_back(path);
  }
  const std::set<InFolder> theirs = made_up_in(other);
  for (const auto& [content, path] : made_up_) {
    if (!theirs.contains(content)) out.push_back(path);
  }
  return out;
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
