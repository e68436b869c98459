// Really makes a cell's namespaces, in a child that is killed and reaped within two seconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace cloche::host {

enum class LiveStep : std::int32_t { kClone, kMap, kMountPrivate, kProc, kDone, kTimeout };

struct LiveAnswer {
  LiveStep failed = LiveStep::kDone;  // the first step that did not work
  int error = 0;                      // its errno
};

LiveAnswer try_namespaces();

// The first line that `program --version` prints; nullopt when it fails or takes longer than two seconds.
std::optional<std::string> ask_version(const std::string& program);

}  // namespace cloche::host
