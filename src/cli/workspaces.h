// The workspaces of a run: what diff, apply and discard have in common.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "files/apply.h"
#include "files/proposal.h"
#include "files/selection.h"
#include "store/run_directory.h"

namespace cloche::cli {

struct Workspace {
  std::string number;  // its directory below ws/
  Fd directory;        // of the proposal
  files::Proposal proposal;
  Fd root;         // invalid: it cannot be opened
  Error obstacle;  // why
};

struct RunFiles {
  store::RunDirectory run;
  std::vector<Workspace> workspaces;  // those that have a proposal
};

enum class Purpose : std::uint8_t {
  kShow,
  kApply,    // what cannot be recovered is an error
  kDiscard,  // a damaged proposal is one as well: it has no entries and "?" for a root
};

// Ends what an application that was interrupted left in a workspace, and says so on stderr.
Status recover_workspace(int root, const std::string& path);

// Finds the run and its workspaces, or the one whose directory is `only`. What an application that was interrupted left
// in a workspace is ended first, and said on stderr.
Result<RunFiles> open_run_files(std::string_view name, Purpose purpose, const std::string& only);

// What the operands select, for each workspace. Without operands everything; one that fits nowhere is an error.
Result<std::vector<files::Selection>> select(const std::vector<Workspace>& workspaces,
                                             const std::vector<std::string>& paths);

// "3 added, 1 modified, 2 deleted"; "nothing".
std::string counts_text(std::size_t added, std::size_t modified, std::size_t deleted);

// Removes the proposal of a workspace: what is interrupted half-way is no proposal any more.
Status remove_proposal(const store::RunDirectory& run, const Workspace& workspace);

}  // namespace cloche::cli
