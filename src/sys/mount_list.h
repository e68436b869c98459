// The mounts that this process sees, by numbers that do not come again. /proc/self/mountinfo gives the number of a mount
// that is gone to the next one, whose line may then be the same to the letter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cloche::sys {

struct MountEntry {
  std::uint64_t id = 0;      // for as long as the machine is up
  std::string point;         // where it is mounted; empty if that cannot be reached
  std::uint64_t traits = 0;  // of flags, propagation, file system: another number where one of them is another
  bool operator==(const MountEntry&) const = default;
};

// Nothing before Linux 6.8, and where a filter forbids to ask. Touches no file system.
std::optional<std::vector<MountEntry>> list_mounts();

}  // namespace cloche::sys
