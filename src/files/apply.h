// Applying a proposal, or parts of it, to the workspace: all that was selected or nothing.
//
// Every selected entry is held against the workspace first. What differs is a problem and stops everything, unless the
// options answer it. What is then done is tree::apply's, against exactly what was seen here: whoever changes the
// workspace in between is found out by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "files/selection.h"
#include "tree/apply.h"

namespace cloche::files {

struct ApplyOptions {
  bool force = false;      // the guest's state replaces whatever is there now
  bool three_way = false;  // texts that both sides changed are merged
  bool markers = false;    // also where the merge has conflicts, which are then marked in the text
  bool dry_run = false;    // everything but the writing
  bool all_protected = false;
  std::uint32_t keep = 0;                 // of what the proposal may keep (files::Keep), this
  std::vector<std::string> granted = {};  // protected paths, and everything below them
  std::function<void(std::string_view step)> progress = {};
  std::function<bool()> cancelled = {};  // see tree::Options
  tree::KeySource key = {};              // the same
};

enum class ProblemKind : std::uint8_t {
  kConflict,      // the workspace is not as the guest found it
  kMerge,         // a merge was tried and has conflicts
  kProtected,     // needs a grant of its own
  kCannotBeDone,  // a directory that is not empty, a link in the way
};
std::string_view to_string(ProblemKind kind);

struct Problem {
  std::string path;
  ProblemKind kind = ProblemKind::kConflict;
  std::string reason;  // one sentence
};

struct Outcome {
  bool applied = false;           // false: there are problems, or it was a dry run; nothing was written
  std::vector<Problem> problems;  // all of them
  std::size_t added = 0;
  std::size_t modified = 0;
  std::size_t deleted = 0;
  std::vector<std::string> merged;
  std::vector<std::string> forced;       // where the workspace was different
  std::vector<std::string> unappliable;  // selected with others and left out
  std::size_t there = 0;                 // was already as the guest would have it
};

// `root` is the workspace, `directory` where the proposal lies. On success the proposal notes what was applied, in
// memory and in its index. With a crash in between, what was applied is found to be there already by the next one.
Result<Outcome> apply(int root, int directory, Proposal& proposal, const Selection& selection,
                      const ApplyOptions& options);

}  // namespace cloche::files
