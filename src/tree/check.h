// The proposal held against its own rules and against the tree as it is; nothing is written.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "tree/apply.h"
#include "tree/journal.h"

namespace cloche::tree {

// One place to be changed. What the new thing is, is known when it has been staged.
struct Task {
  Entry entry;
  const Change* change = nullptr;  // null: a directory that other places need
  Owner owner;                     // of what is there now, or else of the nearest directory above
  std::optional<FolderId> folder;  // the directory above, where one is there
};

struct Checked {
  std::vector<Conflict> conflicts;
  std::vector<Task> tasks;  // ordered by path
  bool may_proceed = true;  // no conflicts but those that the options override
};

// An error with ECANCELED once the answer is yes.
Status not_cancelled(const std::function<bool()>& cancelled);

Result<Checked> check(int root, std::span<const Change> changes, const Options& options);

}  // namespace cloche::tree
