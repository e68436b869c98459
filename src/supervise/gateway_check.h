// A gateway is held to its word: what it says of itself counts for nothing, what the kernel says of it decides.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "launch/gateway.h"

namespace cloche {

struct GatewayReading {
  std::map<std::string, std::string> status;
  std::map<std::string, std::string> namespaces;  // where they differ from the engine's
  std::uint32_t file_owner = 0;                   // of its private files in /proc: not its own uid, if not dumpable
};
Result<GatewayReading> read_gateway(pid_t pid);

// Pure. The evidence for the receipt, or what is not as it must be.
Result<std::string> judge_gateway(const GatewayReading& seen, std::uint32_t uid);

// Both, into gateway.evidence.
Status check_gateway(Gateway& gateway);

}  // namespace cloche
