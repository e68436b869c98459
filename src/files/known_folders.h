// The directories of the host that a proposal was made against: what the guest did in one of them is not done in
// another that has its path by now.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "files/proposal.h"

namespace cloche::files {

// While changes are captured.
class FolderNotes {
 public:
  void add(const std::string& path, int folder);
  // In the order of a proposal.
  std::vector<KnownFolder> take();

 private:
  std::vector<KnownFolder> folders_;
};

// Directories that are there since parts of the proposal were applied, and that the rest of it lies in.
void learn_folders(int root, Proposal& proposal);

// One sentence, where the directory of the workspace, the one that the entry lies in, or the one that it states itself
// is not the one that it was. Nothing where it is, or where nobody can tell.
std::optional<std::string> why_elsewhere(int root, const Proposal& proposal, const Entry& entry);

}  // namespace cloche::files
