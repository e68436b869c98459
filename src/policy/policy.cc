#include "policy/policy.h"

#include <algorithm>

namespace cloche {

std::string_view to_string(Tier tier) {
  switch (tier) {
    case Tier::kProcess:
      return "process";
    case Tier::kNamespace:
      return "namespace";
    case Tier::kContainer:
      return "container";
    case Tier::kMicroVm:
      return "microvm";
  }
  return "invalid";
}

std::string_view to_string(BackendChoice backend) {
  switch (backend) {
    case BackendChoice::kAuto:
      return "auto";
    case BackendChoice::kNative:
      return "native";
    case BackendChoice::kBwrap:
      return "bwrap";
    case BackendChoice::kNone:
      return "none";
  }
  return "invalid";
}

std::string_view to_string(Trust trust) {
  switch (trust) {
    case Trust::kLow:
      return "low";
    case Trust::kMedium:
      return "medium";
  }
  return "invalid";
}

std::string_view to_string(Observe observe) {
  switch (observe) {
    case Observe::kOff:
      return "off";
    case Observe::kCalls:
      return "calls";
    case Observe::kFiles:
      return "files";
    case Observe::kAll:
      return "all";
  }
  return "invalid";
}

std::string_view to_string(LimitsMode mode) {
  switch (mode) {
    case LimitsMode::kRequire:
      return "require";
    case LimitsMode::kBestEffort:
      return "best-effort";
  }
  return "invalid";
}

std::string_view to_string(NetMode mode) {
  switch (mode) {
    case NetMode::kNone:
      return "none";
    case NetMode::kHost:
      return "host";
  }
  return "invalid";
}

std::string_view to_string(WorkspaceMode mode) {
  switch (mode) {
    case WorkspaceMode::kAuto:
      return "auto";
    case WorkspaceMode::kOverlay:
      return "overlay";
    case WorkspaceMode::kCopy:
      return "copy";
  }
  return "invalid";
}

std::string_view to_string(WorkspaceScratch scratch) {
  switch (scratch) {
    case WorkspaceScratch::kMemory:
      return "memory";
    case WorkspaceScratch::kDisk:
      return "disk";
  }
  return "invalid";
}

std::string_view to_string(Kept kept) {
  switch (kept) {
    case Kept::kSetId:
      return "setid";
    case Kept::kXattrs:
      return "xattrs";
  }
  return "invalid";
}

std::string_view to_string(Weakening weakening) {
  switch (weakening) {
    case Weakening::kSupplementaryGroups:
      return "supplementary-groups";
    case Weakening::kHostNetwork:
      return "host-network";
    case Weakening::kNoBackend:
      return "no-backend";
  }
  return "invalid";
}

bool Policy::weakens(Weakening w) const { return std::find(weaken.begin(), weaken.end(), w) != weaken.end(); }

}  // namespace cloche
