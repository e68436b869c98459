// How the entries of a proposal stand to the workspace as it is now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "files/proposal.h"

namespace cloche::files {

enum class Standing : std::uint8_t {
  kClean,         // the workspace is as the guest found it
  kThere,         // it is already as the guest would have it
  kConflict,      // it is neither: somebody changed it since
  kUnknown,       // it changed while the guest ran, another directory is there, or the guest never saw what is there
  kCannotBeSeen,  // a link or another obstacle is on the way to it
};

struct Found {
  Standing standing = Standing::kClean;
  std::optional<tree::FileState> present;
  std::string reason;  // of the last three, one sentence
};

// The entry of that index. Reads the file, if it is one: what this costs is proportional to the file.
Found compare(int root, const Proposal& proposal, std::size_t index);

// The directory that an entry lies in, and the one that is there itself, as they are now; whoever writes asks before
// compare(), and what is exchanged from then on is noticed. Not the workspace's own, which is held, and nothing where
// numbers of directories do not last.
struct EntryFolders {
  std::optional<FolderId> above;
  std::optional<FolderId> itself;
};
EntryFolders folders_now(int root, const Entry& entry);

}  // namespace cloche::files
