// Asking for each change whether it shall be applied, as `git add -p` does.
#pragma once

#include "base/result.h"
#include "cli/diff_view.h"
#include "files/selection.h"

namespace cloche::cli {

// Narrows the selections to what was answered with yes. Questions go to stderr, answers come from stdin, one a line;
// its end is a q.
Status ask_for_hunks(const std::vector<Workspace>& workspaces, std::vector<files::Selection>& selections,
                     const DiffOptions& options);

}  // namespace cloche::cli
