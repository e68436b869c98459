// Policies and ceilings that lie on a disk.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "policy/ceiling.h"
#include "policy/policy.h"

namespace cloche::cli {

Result<Policy> load_policy(const std::string& path);
// A preset's name, or a path: whatever has a '/' or ends in .toml.
Result<Policy> load_preset_or_file(const std::string& name);

// All ceilings that a run is under, in the order below.
Result<std::vector<Ceiling>> load_ceilings(const std::vector<std::string>& named,
                                           const std::map<std::string, std::string>& env);

// The operator's ceiling, that of CLOCHE_CEILING and those named: each of them only ever takes away, so that nobody
// lifts the operator's by naming another.
Status enforce_ceilings(const Policy& policy, const std::vector<std::string>& named,
                        const std::map<std::string, std::string>& env);

}  // namespace cloche::cli
