// Sockets of a way out: what init opened, and what is dialled on the host.
#pragma once

#include <cstdint>

#include "base/fd.h"
#include "base/result.h"
#include "egress/message.h"

namespace cloche {

// Whether a descriptor is what it is said to be: family, type, listening, port.
Status check_listener(egress::ListenerKind kind, std::uint64_t which, int socket);

// A connection to the unix socket behind an O_PATH descriptor: a stream or, if that is what listens there, sequenced
// packets. Never waits.
Result<Fd> dial_socket(int place);

}  // namespace cloche
