// Tries that no listener took: the kernel refused them, and the engine hears of them. A packet socket shows the first
// packet of every connection in the cell.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include "gateway/shared.h"
#include "gateway/task.h"
#include "proto/ip_address.h"

namespace cloche::gateway {

struct Attempt {
  proto::Endpoint to;
  bool datagram = false;
  bool operator==(const Attempt&) const = default;
};

// What an IP packet is the beginning of; nothing for any other, and for one that is cut off.
std::optional<Attempt> read_attempt(std::string_view packet);

// `taken`: ports with a listener, whose connections are told by others.
Task<void> watch_packets(Shared& shared, std::unique_ptr<Stream> socket, const std::set<std::uint16_t>& taken,
                         const std::set<std::uint16_t>& doors);

}  // namespace cloche::gateway
