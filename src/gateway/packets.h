// Tries that no listener took: the kernel refused them, and the engine hears of them. A packet socket shows the first
// packet of every connection in the cell.
#pragma once

#include <cstddef>
#include <cstdint>
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

// How many attempts nobody was told of: those that came while the engine was behind, and packets that were never read,
// whatever they are. To be asked once, at the end: the kernel forgets its count when it is asked.
std::uint64_t lost_attempts(const Shared& shared);

// `taken`: ports with a listener, whose connections are told by others.
Task<void> watch_packets(Shared& shared, std::unique_ptr<Stream> socket, const std::set<std::uint16_t>& taken,
                         const std::set<std::uint16_t>& doors);

}  // namespace cloche::gateway
