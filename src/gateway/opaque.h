// Bytes that pass as they are, for want of a protocol that is known: both ways, until both are over. In a run with
// secrets no placeholder gets through. No value ever goes out by it, so none is looked for in what comes back.
#pragma once

#include <string>

#include "gateway/dialer.h"
#include "gateway/flow.h"
#include "gateway/stream.h"
#include "gateway/task.h"

namespace cloche::gateway {

struct Shared;

// `early` goes to the server first.
Task<void> pass_opaque(Shared& shared, Flow& flow, Stream& client, Stream& server, std::string early);
// The same to a name, where nothing may be a request (first_words.h).
Task<void> pass_watched(Shared& shared, Flow& flow, Stream& client, Stream& server, const Target& target,
                        std::string early);

}  // namespace cloche::gateway
