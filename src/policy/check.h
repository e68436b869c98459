// What a policy may not say, whoever wrote it: a file, a flag, the environment or C++ code.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"
#include "policy/schema_table.h"

namespace cloche {

// Keys that cannot stand together, the most telling first; item is the entry of a list that is at fault, if one is.
struct Contradiction {
  std::vector<Key> keys;
  std::string item;
  Error error;
};

Contradiction clash(std::vector<Key> keys, std::string message, std::string hint, std::string item = {});

std::optional<Contradiction> find_contradiction(const Policy& policy);
// The part of it that is about net, sockets and secrets.
std::optional<Contradiction> check_way_out(const Policy& policy);

// Relative workspaces become absolute, from the directory in which the caller is.
void anchor_workspaces(Policy& policy, const std::string& directory);

// Every range, every path and name, and the contradictions. Call it after the last override.
Status check(const Policy& policy, std::string_view origin);

}  // namespace cloche
