// What must be known of a directory before it can be a workspace.
#pragma once

#include <string>

#include "plan/host_facts.h"

namespace cloche {

enum class Overlay : std::uint8_t {
  kWanted,    // measured only where something is known to be in the way
  kUnwanted,  // a copy was asked for
  kRefused,   // the kernel would not have it
  kUnmapped,  // root's guest would be nobody there: its file system maps no owners
};

// Cheap for an overlay, whatever the size of the directory; a copy needs to know how much it will take.
WorkspaceFacts look_at_workspace(const std::string& path, Overlay overlay, const std::string& root = {});

}  // namespace cloche
