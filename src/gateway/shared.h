// What all connections of a gateway share. One thread, so no locks.
#pragma once

#include <array>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "egress/settings.h"
#include "gateway/broker_room.h"
#include "gateway/dialer.h"
#include "gateway/flow.h"
#include "gateway/link.h"
#include "gateway/live_rules.h"
#include "gateway/loop.h"
#include "gateway/meter.h"
#include "gateway/names.h"
#include "gateway/pump.h"
#include "gateway/resolver.h"
#include "gateway/socket_service.h"
#include "gateway/vault.h"

namespace cloche::gateway {

struct Shared {
  Loop& loop;
  LiveRules rules;
  Meter meter;
  Resolver resolver;
  Vault vault;
  Names names{};
  PipePool pipes{};
  std::array<char, 16 * 1024> part{};  // bytes on their way, as long as nobody else has a turn
  LiveSockets sockets;
  SocketDialer socket_dialer;
  BrokerRoom broker_room{};
  std::unique_ptr<Link> link{};
  std::list<Flow*> flows{};
  std::size_t connections = 0;  // accepted and not over, also those that have said nothing yet
  Clock::time_point began = Clock::now();
  std::uint64_t taken = 0;  // connections and packets that were taken in, ever
  int packet_socket = -1;
  std::uint64_t packets_read = 0;
  std::uint64_t attempts_dropped = 0;  // read, and not told
  bool over = false;                   // a limit was hit, or the guest is gone

  // A limit of the run was hit: everything ends, and the engine ends the run.
  void hit(std::string_view limit);
  // Ends every flow that this grant carried.
  void end_granted(std::string_view granted, std::string_view why);
  void end_with_secret(std::string_view name, std::string_view why);
};

// Waits while the engine is behind with what it was told: whoever makes records must not make them faster.
Task<void> link_in_time(Shared& shared);

}  // namespace cloche::gateway
