// What the first bytes of a guest on a connection to a name are. What passes unlooked at must be nothing that a server
// behind a shared address could take for a request to another name; what is opaque by its first bytes is watched on
// (first_words.h).
#pragma once

#include <cstddef>
#include <string_view>

namespace cloche::gateway {

inline constexpr std::size_t kTlsQuestion = 8;  // bytes of kAsksTls

enum class Speech {
  kMore,      // not enough bytes to tell
  kTls,       // a record of TLS, of whatever kind
  kHttp,      // text: a request, or nothing that may pass
  kOpaque,    // another protocol: ssh, or one that does not begin with text
  kAsksTls,   // PostgreSQL's question whether TLS, or encryption of GSSAPI, may begin behind it: eight bytes
  kOldHello,  // a ClientHello of SSL 2, which names no host
};

// `server_spoke`: the server's greeting came first, so it is no protocol of requests.
Speech classify_speech(std::string_view first, bool server_spoke);

}  // namespace cloche::gateway
