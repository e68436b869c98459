// Where the value of a secret comes from. It is read when the run starts, handed to the gateway and wiped.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "policy/policy.h"

namespace cloche {

// One line, without its end. No sentence of an error holds any of it. When `cancel` becomes readable it is given up,
// with ECANCELED.
Result<std::string> read_secret(const SecretGrant& grant, const std::map<std::string, std::string>& env,
                                int cancel = -1);

}  // namespace cloche
