// Where this user's cloche may keep its records and its key, and what a run does so that no guest sees them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/host_facts.h"
#include "plan/plan.h"

namespace cloche {

// The state directory of this environment, and those of the same user without its variables.
std::vector<OwnPlace> own_places(const std::map<std::string, std::string>& env);

// Whether a grant of the plan holds one of them, also one that is not there yet.
bool holds_own_place(const Plan& plan, const HostFacts& host);

// Nothing can lie over a directory that is not there, and what is made while the guest runs would lie open: makes the
// state directory where the plan hides it.
Status make_hidden(const Plan& plan, const std::map<std::string, std::string>& env);

}  // namespace cloche
