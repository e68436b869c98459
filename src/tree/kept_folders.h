// Directories that were changed, held open by their inodes: whoever renames one meanwhile takes it away from its path,
// but not from an undo.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <utility>

#include "base/fd.h"

namespace cloche::tree {

class KeptFolders {
 public:
  // The last ones only: there may be more directories than descriptors. What cannot be held is found by its path alone.
  static constexpr std::size_t kMost = 128;

  // A second descriptor of it, and what to ask for later; 0: it could not be looked at.
  std::uint64_t keep(int folder);
  // Nothing where it is not held any more, or was removed.
  std::optional<Fd> find(std::uint64_t inode) const;

 private:
  using Held = std::list<std::pair<std::uint64_t, Fd>>;  // the latest first
  Held held_;
  std::map<std::uint64_t, Held::iterator> by_inode_;
};

}  // namespace cloche::tree
