// What is to be known of the directories on the way to many paths, found out once for each directory as long as the
// paths come sorted. A guest may put a million files below directories that are nested as deep as a path can be long.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cloche::tree {

template <typename State>
class PathWalk {
 public:
  // `top` is the state of the directory in which paths begin.
  explicit PathWalk(State top) { way_.push_back(std::move(top)); }

  // The states from the top to the directory that has what `path` names. `enter` is asked for the state of each
  // directory that was not on the way to the path before: by the states above it, its path and its name.
  template <typename Enter>
  std::span<State> to(std::string_view path, const Enter& enter) {
    const std::string_view folder = path.substr(0, std::min(path.rfind('/'), path.size()));
    if (folder.size() == path.size()) {
      leave(0);
    } else if (folder != folder_ || ends_.empty()) {
      leave(shared_with(folder));
      for (std::size_t begin = ends_.empty() ? 0 : ends_.back() + 1; begin <= folder.size();) {
        const std::size_t end = std::min(folder.find('/', begin), folder.size());
        State state = enter(std::span<State>(way_), folder.substr(0, end), folder.substr(begin, end - begin));
        way_.push_back(std::move(state));
        ends_.push_back(end);
        begin = end + 1;
      }
    }
    folder_ = ends_.empty() ? std::string_view() : folder;
    return way_;
  }

 private:
  // How many directories of the last way lead to this one, too.
  std::size_t shared_with(std::string_view folder) const {
    const auto differ = std::mismatch(folder.begin(), folder.end(), folder_.begin(), folder_.end()).first;
    const auto same = static_cast<std::size_t>(differ - folder.begin());
    std::size_t count = 0;
    const auto leads_on = [&](std::size_t end) { return end <= same && (end == folder.size() || folder[end] == '/'); };
    while (count < ends_.size() && leads_on(ends_[count])) ++count;
    return count;
  }

  void leave(std::size_t kept) {
    way_.erase(way_.begin() + static_cast<std::ptrdiff_t>(kept) + 1, way_.end());
    ends_.resize(kept);
  }

  std::string folder_;
  std::vector<State> way_;
  std::vector<std::size_t> ends_;  // of the names in folder_; one less than there are states
};

// The last name of a path.
inline std::string_view last_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace cloche::tree
