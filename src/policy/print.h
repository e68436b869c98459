// A policy as a TOML file that parses back to the same policy.
#pragma once

#include <string>

#include "policy/policy.h"

namespace cloche {

// The name is not in the text: it is the name of the file the text is read from.
std::string to_toml(const Policy& policy);

}  // namespace cloche
