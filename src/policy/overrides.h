// Single keys set from outside a file: flags and CLOCHE_* variables, by the same table and the same rules.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "policy/check.h"
#include "policy/policy.h"

namespace cloche {

// set_scalar(policy, "limits.pids", "64", "--pids"): origin names the flag in the error. Checks the one value; call
// check() when all of them are in.
Status set_scalar(Policy& policy, std::string_view dotted_key, std::string_view text, std::string_view origin);

// Every CLOCHE_<KEY> of a scalar key. An unknown name in a section (CLOCHE_LIMITS_…) is an error, because a limit
// that was misspelt and ignored is a limit that is not there (P3).
Status apply_env_overrides(Policy& policy, const std::map<std::string, std::string>& env);

}  // namespace cloche
