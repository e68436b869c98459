// From a view to a proposal. Proportional to what the guest changed: an overlay's upper directory holds nothing else,
// and of a copy only what was touched is read.
//
// Extended attributes, access lists, owners and set-id and sticky bits are not kept; that there were any is marked.
// Hard links become separate files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "files/proposal.h"
#include "files/view.h"
#include "tree/change.h"

namespace cloche::files {

// Holes and further names of a file cost a guest nothing (unstored.h): of all files together not more than this.
inline constexpr std::uint64_t kMostHoleBytes = std::uint64_t{1} << 30;

// Writes the proposal into the directory `into`, which is empty and ours alone. Until the last step it has no index, so
// that what was interrupted is no proposal.
Result<Summary> capture(const View& view, int into, const Progress& progress = {});

// What capture() would propose, without the bytes: in the order of paths. Nothing is written anywhere, so nothing is
// left by who is killed meanwhile.
struct ChangedPath {
  std::string path;
  std::optional<tree::FileState> after;  // nothing: deleted
};
Result<std::vector<ChangedPath>> changed_paths(const View& view, const Progress& progress = {});

}  // namespace cloche::files
