// What becomes of what a guest wrote: proposals, artifacts, files handed out.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "files/capture.h"
#include "files/collect.h"
#include "files/view.h"

namespace cloche {

struct Keeping {
  int directory = -1;                  // of the run, ours, or none; proposals go to ws/N, artifacts to artifacts/
  std::vector<std::string> artifacts;  // patterns of paths in the cell
  std::vector<std::pair<std::string, files::Destination>> gets;  // path in the cell, and where to
  files::Progress progress;
};

// A guest that saw where runs are kept would see what others did, and propose to change it. Workspaces are absolute and
// without a link; `run_directory` may lead through one.
Status check_apart(const std::string& run_directory, const std::vector<std::string>& workspaces);

// The same place by a path without links.
std::string canonical_place(const std::string& run_directory);

// Keeps what was asked for and says so in the report. What cannot be kept is an error when everything else is done, so
// that one workspace more or less does not cost the others.
Status keep_files(const Plan& plan, const Leftovers& left, const Keeping& keeping, Report& report);

// What keep_files() would make proposals of, by absolute paths. Keeps nothing and writes nothing.
Result<std::vector<files::ChangedPath>> changed_paths(const Plan& plan, const Leftovers& left,
                                                      const files::Progress& progress);

}  // namespace cloche
