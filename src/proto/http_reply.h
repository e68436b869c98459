// What the proxy itself says to a client: refusals that a person can read, and the word that a tunnel stands.
#pragma once

#include <string>
#include <string_view>

#include "proto/http_fields.h"

namespace cloche::proto {

std::string_view http_reason(int status);  // "Forbidden"; "Refused" for a status that is not known here

enum class HttpReplyBody {
  kSent,
  kOmitted,  // the answer to HEAD: says how long the text would be
};

// The sentence as a body of plain text, after which the connection is closed: 403, 400, 502, 504 and the like.
std::string http_reply(const HttpError& error, HttpReplyBody body = HttpReplyBody::kSent);

// The answer to CONNECT; what follows is the tunnel.
inline constexpr std::string_view kConnectionEstablished = "HTTP/1.1 200 Connection established\r\n\r\n";

}  // namespace cloche::proto
