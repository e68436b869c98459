// Carries HTTP between a client and a server: the exchange (proto/http_exchange.h) with ducts on both sides, a decision
// on every request, and secrets put in and taken out on the way.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/dialer.h"
#include "gateway/duct.h"
#include "gateway/flow.h"
#include "gateway/task.h"
#include "gateway/vault.h"
#include "proto/http_exchange.h"

namespace cloche::gateway {

struct Shared;

// A request's place, as the guest wrote it, against the one that the connection was allowed for.
bool names_place(const proto::HttpAuthority& authority, const Target& target, std::uint16_t default_port);

// On a connection whose server is settled.
Task<void> carry_http(Shared& shared, Flow& flow, Duct& client, Duct& server, const Target& target, Wrapping wrapping,
                      std::string early);

// On a connection to the proxy: every request names its own server. A CONNECT is handed to `on_connect` with the bytes
// that followed it, and is the connection's last request.
using OnConnect = std::function<Task<void>(Target target, std::string early)>;
Task<void> carry_proxied(Shared& shared, Stream& client, std::string early, const OnConnect& on_connect);

}  // namespace cloche::gateway
