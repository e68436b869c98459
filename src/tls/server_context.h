// What all sessions towards guests share. For this room's .cc files.
#pragma once

#include "tls/openssl.h"

namespace cloche::tls {

// Asks the session behind each connection (SSL_get_app_data) for its name; see session.cc.
Result<Context> make_server_context();

}  // namespace cloche::tls
