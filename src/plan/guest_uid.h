// Whose files are a guest's.
#pragma once

#include <cstdint>

namespace cloche {

// Host uids of guests when the engine is root: this plus the pid of the cell's first process, which no other live
// process has. The range lies above systemd's container range and below its reserved end.
inline constexpr std::uint32_t kGuestUidBase = 0x71000000;

}  // namespace cloche
