// Gateway: the process that a run's way out leads through. It reads what a guest sends and what the world answers, so
// it is confined like a guest: born in namespaces of its own (but for the network, which is the host's), without
// privilege, and behind a filter that it puts on itself before it hears of anybody.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"
#include "egress/settings.h"
#include "launch/spawn.h"

namespace cloche {

struct Gateway {
  Spawned process;        // `control` carries egress/message.h
  std::uint32_t uid = 0;  // on the host
  std::string authority;  // PEM of the certificate authority of this run, if it ends TLS
  egress::Limits limits;  // what its meter has, by its own word
  std::string evidence;   // what was read back of it; empty: nobody has looked yet
};

// Lies beside cloche-init.
std::string gateway_beside(const std::string& init_path);

// Who the gateway is on the host. Root's gateway gets a uid that no other process has, as a guest does.
struct GatewayIdentity {
  bool own_uid = false;
  std::uint32_t uid = 0;  // else: the engine's own
  std::uint32_t gid = 0;
};

// Returns when it says that it is confined. The values of secrets are wiped here, whatever comes of it.
Result<Gateway> start_gateway(const std::string& program, const GatewayIdentity& identity, egress::Settings settings);

// Of every copy that is about to be freed.
void wipe_values(egress::Settings& settings);

}  // namespace cloche
