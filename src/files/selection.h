// Which entries of a proposal, and which hunks of them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "diff/hunks.h"
#include "files/proposal.h"

namespace cloche::files {

// Pending entries by their index. With a list: these hunks of the entry's difference (from 0); without: all of it.
using Selection = std::map<std::size_t, std::optional<std::vector<std::size_t>>>;

Selection select_all(const Proposal& proposal);

// A path relative to the workspace or an absolute one in it, as people type them: "./a//b/" is "a/b". Nothing: it lies
// elsewhere. The workspace itself is the empty path.
std::optional<std::string> path_in(const Proposal& proposal, std::string_view typed);

// Each path selects its entry and everything below it. One that selects nothing is an error, which names it.
Result<Selection> select_paths(const Proposal& proposal, std::span<const std::string> typed);

// "PATH:1,3-5": hunks of a file, counted from 1. Added to the selection.
Status select_hunks(const Proposal& proposal, std::string_view typed, Selection& selection);

// What must come along: new directories that what is selected lies in.
void add_parents(const Proposal& proposal, Selection& selection);

// The two texts of an entry that can be shown as lines; nothing where either side is no text. An added or a deleted
// file has one empty side; `root` is where the old text of a deleted one is still to be found, if it is unchanged.
struct Texts {
  std::string before;
  std::string after;
};
Result<std::optional<Texts>> texts_of(int directory, int root, const Entry& entry);

}  // namespace cloche::files
