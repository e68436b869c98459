// Names whose content is run or obeyed by programs that people start without thinking of it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree/change.h"
#include "tree/path_walk.h"

namespace cloche::tree {

// What is known of the directories above a tree, as far as it decides about names in the tree.
struct Above {
  std::vector<std::string> names = {};               // the last ones, with which a protected path may begin
  std::optional<std::string> reason = std::nullopt;  // why everything in the tree is protected
};

// Of a tree with this path, which is absolute and leads through no link.
Above above_of(std::string_view path);

// What the names on the way to a directory decide about names in it. All names are plain ones.
struct NamesAbove {
  static constexpr std::size_t kNoRule = static_cast<std::size_t>(-1);

  std::array<std::string, 2> last = {};  // the nearest one first: a rule has three names at most
  std::size_t rule = kNoRule;            // the first one that protects everything below
  bool in_git = false;
  bool in_hooks = false;      // below a .git
  bool in_sequencer = false;  // below a .git
};

// Judges many paths of one tree, quickest when they come sorted.
class NameJudge {
 public:
  explicit NameJudge(const Above& above = {});

  // Why a change to something of this kind at this path deserves a second look, or nothing. A symlink is protected
  // where any part of a protected path would lead through it. Names are compared as the most forgiving file system
  // does.
  std::optional<std::string> why(std::string_view path, FileKind kind);

 private:
  std::optional<std::string> everything_;
  PathWalk<NamesAbove> walk_;
};

// Of one path.
std::optional<std::string> why_protected(std::string_view path, FileKind kind, const Above& above = {});

}  // namespace cloche::tree
