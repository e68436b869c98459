// What a run leaves outside of the store when its engine and its janitor are killed at once: cgroups, which the kernel
// has emptied, the work directory of tier 0, and what it had half copied to the host (copy_note.h).
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "plan/host_facts.h"
#include "store/collect.h"

namespace cloche {

// Of exactly this run, whose engine is known to be dead: its groups where this host would make them, if nobody is in
// them, then "cloche-ID" in `temporary`, if it is a directory of this user's or a guest of root's. kRefused: somebody
// is still in a group. ECANCELED: `go_on` said no.
Status remove_left_behind(const CgroupFacts& facts, const std::string& temporary, const std::string& id,
                          const std::function<bool()>& go_on);

// For collections. The host is looked at when the first killed run is met.
store::Sweep sweep_of_host();

}  // namespace cloche
