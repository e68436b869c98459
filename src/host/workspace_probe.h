// What must be known of a directory before it can be a workspace.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "plan/host_facts.h"

namespace cloche {

enum class Overlay : std::uint8_t {
  kWanted,    // measured only where something is known to be in the way
  kUnwanted,  // a copy was asked for
  kRefused,   // the kernel would not have it
  kUnmapped,  // root's guest would be nobody there: its file system maps no owners
};

// What is worth a copy where an overlay would serve, but not for all that lies in the directory.
struct CopyBound {
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
};

struct WorkspaceLook {
  Overlay overlay = Overlay::kWanted;
  // The one user and the one group of the host that the guest's files have there; by itself, those of the directory.
  std::optional<std::pair<uid_t, gid_t>> guest;
  CopyBound bound;
  std::string root;  // of a host, for tests
};

// Cheap for an overlay, whatever the size of the directory; a copy needs to know how much it will take.
WorkspaceFacts look_at_workspace(const std::string& path, const WorkspaceLook& how);

}  // namespace cloche
