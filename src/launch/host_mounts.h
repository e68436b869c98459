// Grants of a root engine. The guest has a host uid of its own, which could not use most of what the operator grants,
// so each granted tree is cloned by the engine and its owner mapped to the guest: what the guest makes there belongs to
// the directory's owner on the host, and no guest uid is ever left on a disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "plan/plan.h"

namespace cloche {

Result<std::vector<Fd>> clone_host_mounts(const std::vector<HostMount>& mounts, std::uint32_t guest_uid);

}  // namespace cloche
