// A TLS 1.3 server may ask for a second ClientHello (RFC 8446, 4.1.4). It is in the clear, and a client that lies may
// put another name in it than in the first, so it has to be looked at, too.
#pragma once

#include <cstddef>
#include <string_view>

#include "proto/client_hello.h"

namespace cloche::proto {

enum class ServerFirst {
  kNeedMore,
  kAsksAgain,  // a HelloRetryRequest: the next handshake of the client is a ClientHello
  kGoesOn,     // anything else
};

// Of all bytes that the server has sent so far.
ServerFirst look_at_server(std::string_view bytes);

// Of the client's bytes behind its first ClientHello, if the server asked again. Records that may stand before the
// second are passed over: the change of ciphers that middleboxes like to see, and early data that the server will drop.
HelloResult parse_second_hello(std::string_view bytes);

}  // namespace cloche::proto
