// Why a session failed, in a sentence for people. For this room's .cc files.
#pragma once

#include <string>
#include <string_view>

#include "tls/openssl.h"

namespace cloche::tls {

enum class Towards { kGuest, kServer };

// Reads and empties OpenSSL's queue of errors. Nothing that the peer wrote is repeated.
std::string failure_sentence(SSL* connection, Towards towards, std::string_view name);

}  // namespace cloche::tls
