// Ceiling: what an operator lets any policy ask for. A policy over it is refused by name and never lowered in silence:
// a run that got less than it asked for would fail in ways nobody can explain.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/key_value.h"
#include "policy/policy.h"

namespace cloche {

struct Bound {
  Key key;
  Value value;
  bool operator==(const Bound&) const = default;
};

// A key without a bound is not limited, but for what an operator must allow by name, also with no bound at all:
// development mode, backend "none", net.mode "host", net.allow, sockets.allow, and a command as the source of a secret.
struct Ceiling {
  std::string name = "default";
  std::vector<Bound> bounds;
  bool operator==(const Ceiling&) const = default;
};

Result<Ceiling> parse_ceiling(std::string_view text, std::string_view file_name);

// kRefused with the key, the asked and the allowed value.
Status enforce(const Policy& policy, const Ceiling& ceiling);
// The same for hosts, sockets and secrets alone: for what is granted to a run that has passed already.
Status enforce_way_out(const Policy& policy, const Ceiling& ceiling);

}  // namespace cloche
