// The user namespace's maps: exactly one uid and one gid, and no setgroups.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/fd.h"
#include "base/result.h"
#include "plan/guest_uid.h"

namespace cloche {

struct IdMap {
  std::uint32_t inside_uid = 0;
  std::uint32_t inside_gid = 0;
  std::uint32_t outside_uid = 0;
  std::uint32_t outside_gid = 0;
};

Status write_id_map(pid_t pid, const IdMap& map);

}  // namespace cloche
