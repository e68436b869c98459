// What every way in has in common: who wants where, may it, and the connection there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "gateway/dialer.h"
#include "gateway/flow.h"
#include "gateway/stream.h"
#include "gateway/task.h"
#include "proto/http_message.h"

namespace cloche::gateway {

struct Shared;

// An address as the guest gave it: one of ours stands for a name, and a loopback address is the host's only as
// "localhost" or where a rule names it.
Target target_of(const Shared& shared, const proto::IpAddress& address, std::uint16_t port);
// A host as it is written in a request: a name or an address.
Result<Target> target_of(const Shared& shared, std::string_view host, std::uint16_t port);
// Where a request to the proxy wants to go.
Result<Target> proxy_target(const Shared& shared, const proto::HttpRequestHead& head);

// Counts a connection that is about to be made; false: it is one too many, and the flow says so.
bool count_connection(Shared& shared, Flow& flow);
// Asks the rules, counts the connection and dials. The flow says what came of it.
Task<Result<std::unique_ptr<Stream>>> reach(Shared& shared, Flow& flow, const Target& target);

// Says no so that a person can read it, in the language that the guest began to speak, and ends the connection.
Task<void> refuse(Stream& client, std::string_view first, std::string reason);
// The same once it is known which language that is.
Task<void> refuse_http(Stream& client, std::string reason);
Task<void> refuse_tls(Stream& client);

// Carries an allowed connection to its end. `early`: what the guest sent already.
Task<void> carry(Shared& shared, Flow& flow, Stream& client, Stream& server, const Target& target, std::string early);

// The ways in.
Task<void> serve_direct(Shared& shared, Fd client);
Task<void> serve_proxy(Shared& shared, Fd client);
Task<void> serve_socket(Shared& shared, std::size_t index, Fd client);

}  // namespace cloche::gateway
