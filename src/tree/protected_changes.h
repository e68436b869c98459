// Which changes of a proposal deserve a second look: by their own names, and by what they make of the directory that
// they are in.
//
// Git takes every directory for a repository that has HEAD, objects and refs, or HEAD and a commondir that says where
// the other two are, and then runs what its config and hooks say, whatever the directory is called. So a config is
// harmless or not by what lies beside it, now on the host or by the proposal.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tree/change.h"

namespace cloche::tree {

struct NamedChange {
  std::string_view path;
  FileKind kind = FileKind::kRegular;  // what it shall be; of what goes, what it was
  bool goes = false;
};

inline constexpr int kNoTree = -1;

// The reasons, one for each change, in their order. Parts of a proposal may be applied in any order or never: what is
// in the tree is taken to stay, and what is proposed to come. `root` is the tree, which is looked at only in
// directories where the proposal has one of git's names.
std::vector<std::optional<std::string>> why_protected(int root, std::span<const NamedChange> changes);

}  // namespace cloche::tree
