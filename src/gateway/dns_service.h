// The cell's nameserver. Answers from the rules alone: no question of a guest leaves the machine.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "gateway/shared.h"
#include "gateway/task.h"
#include "proto/dns_message.h"

namespace cloche::gateway {

// The bytes to send back; empty: nothing.
std::string answer_dns(Shared& shared, std::string_view message, proto::DnsTransport transport);

// Until the socket ends.
Task<void> serve_dns_datagrams(Shared& shared, std::unique_ptr<Stream> socket);
Task<void> serve_dns_stream(Shared& shared, Fd client);

}  // namespace cloche::gateway
