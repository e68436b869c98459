// What is read about a cell before its guest starts. Some of it can be read while the cell prepares itself, and all of
// it about a cell that stands ready: nothing of that changes until it is let go.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "launch/cell.h"
#include "plan/plan.h"
#include "supervise/read_back.h"

namespace cloche {

// The engine's namespaces, what the host does with core dumps, and the leaf's own files, whose settings are final.
struct Ahead {
  std::map<std::string, std::string> own_namespaces;
  std::map<std::string, std::string> cgroup_files;
  std::string core_pattern;
  View view;
};
Ahead look_ahead(const CgroupLeaf& leaf, const std::vector<CgroupSetting>& settings);

// Of a cell whose init has built it.
void look_at_view(pid_t init, Ahead& ahead);

// What the kernel says of the guest-to-be, which has said that it is ready.
Result<Transcript> look(pid_t guest, const Ahead& ahead);
// What that means for the cell. An error if the guest-to-be is not in the groups that limit it.
Result<Inspection> inspect(const Cell& cell, std::uint32_t probe, const Transcript& text);

}  // namespace cloche
