// A gateway is held to its word: what it says of its walls counts for nothing, what the kernel says of them decides.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "launch/gateway.h"
#include "plan/plan.h"

namespace cloche {

struct GatewayReading {
  std::map<std::string, std::string> status;
  std::map<std::string, std::string> namespaces;  // where they differ from the engine's
  std::uint32_t file_owner = 0;                   // of its private files in /proc: not its own uid, if not dumpable
};
Result<GatewayReading> read_gateway(pid_t pid);

// Pure. The evidence for the receipt, or what is not as it must be.
Result<std::string> judge_gateway(const GatewayReading& seen, std::uint32_t uid);

// Pure. Whether a gateway's meter has the limits of a plan and no others; and what it has, in the policy's words. The
// kernel knows nothing of them, so it is the gateway's word that counts here, given before there was a guest.
bool has_limits(const NetLimits& planned, const egress::Limits& held);
std::string limits_text(const egress::Limits& held);

// Both, into gateway.evidence.
Status check_gateway(Gateway& gateway);

}  // namespace cloche
