// The user namespace's maps: exactly one uid and one gid, and no setgroups.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/fd.h"
#include "base/result.h"

namespace cloche {

struct IdMap {
  std::uint32_t inside_uid = 0;
  std::uint32_t inside_gid = 0;
  std::uint32_t outside_uid = 0;
  std::uint32_t outside_gid = 0;
};

// Host uids of guests when the engine is root: this plus the pid of the cell's first process, which no other live
// process has. The range lies above systemd's container range and below its reserved end.
inline constexpr std::uint32_t kGuestUidBase = 0x71000000;

Status write_id_map(pid_t pid, const IdMap& map);

}  // namespace cloche
