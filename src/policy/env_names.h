// Which variables of the caller's environment reach the guest (N5).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "policy/policy.h"

namespace cloche {

// True for a variable that makes a loader, an interpreter or a tool run code or open a channel nobody asked for.
bool is_dangerous_env(std::string_view name);

// "PREFIX_*" or an exact name, against an exact name.
bool matches_env_pattern(std::string_view pattern, std::string_view name);

// What the guest gets: set, and what pass names of the host's. A dangerous name comes from set alone, whether pass
// has it by wildcard or by name.
std::map<std::string, std::string> select_env(const EnvGrants& grants,
                                              const std::map<std::string, std::string>& host_env);

}  // namespace cloche
