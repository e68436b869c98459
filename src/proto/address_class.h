// What kind of place an address is: a name that is allowed must not lead to a place that only this machine or its
// network can reach.
#pragma once

#include <string_view>

#include "proto/ip_address.h"

namespace cloche::proto {

enum class AddressClass {
  kPublic,
  kLoopback,
  kPrivate,    // RFC 1918, shared (100.64.0.0/10), unique local, site-local, local NAT64
  kLinkLocal,  // this wire only
  kMetadata,   // where clouds tell a machine its secrets
  kMulticast,
  kReserved,  // unspecified, broadcast, documentation, benchmarks, not handed out
};

std::string_view to_string(AddressClass kind);  // "a private address": reads in a sentence

// Looks through an IPv4 address inside of an IPv6 one: whichever of both is not public counts.
AddressClass classify(const IpAddress& address);

}  // namespace cloche::proto
