#include "engine/network_events.h"

#include <memory>
#include <string>
#include <utility>

namespace cloche {

void tell_network(RunWiring& wiring, std::function<void(const NetworkEvent&)> listener) {
  if (!listener) return;
  using Kind = NetworkEvent::Kind;
  const auto shared = std::make_shared<const std::function<void(const NetworkEvent&)>>(std::move(listener));
  wiring.on_connection = [shared](const Connection& of, bool opened) {
    (*shared)({opened ? Kind::kOpened : Kind::kClosed,
               std::string(to_string(of.via)),
               of.name,
               of.address,
               of.port,
               {},
               std::string(to_string(of.verdict)),
               of.reason,
               of.bytes_in,
               of.bytes_out});
  };
  wiring.on_call = [shared](const Call& call) {
    (*shared)({Kind::kCall,
               std::string(to_string(Via::kSocket)),
               call.socket,
               {},
               0,
               call.method,
               std::string(to_string(call.verdict)),
               call.reason,
               0,
               0});
  };
  wiring.on_change = [shared](const GrantChange& change) {
    NetworkEvent event;
    event.kind = change.turn == GrantChange::Turn::kGranted   ? Kind::kGranted
                 : change.turn == GrantChange::Turn::kRevoked ? Kind::kRevoked
                                                              : Kind::kEnded;
    event.via = change.what;
    event.name = change.text;
    event.reason = change.by;
    event.lasts = change.lasts.value_or(Millis(0));
    (*shared)(event);
  };
}

}  // namespace cloche
