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

// Whether a directory could be granted so for writing, asked of the kernel; true also where nothing can be asked.
bool maps_owners(const std::string& path);

// By the kind of its file system alone, from Linux 6.6 on, and not for what is mounted inside.
bool surely_maps_owners(const std::string& path);

}  // namespace cloche
