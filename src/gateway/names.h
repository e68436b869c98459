// Addresses that stand for names inside of the cell. The guest gets one when it asks for a name; a connection to it is
// a connection to the name, wherever that leads by then. So no address that a guest chose is ever dialled for a name,
// and asking for a name asks nobody outside.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proto/host_name.h"
#include "proto/ip_address.h"

namespace cloche::gateway {

class Names {
 public:
  static constexpr std::size_t kMost = 4096;

  struct Pair {
    proto::IpAddress v4;  // 198.18.0.0/15, which no host on the Internet has
    proto::IpAddress v6;
  };
  // Nothing: too many names.
  std::optional<Pair> addresses_of(const proto::HostName& name);
  const proto::HostName* name_of(const proto::IpAddress& address) const;
  // Whether it is one of the addresses that are given out here, or could be.
  static bool is_ours(const proto::IpAddress& address);

 private:
  std::vector<proto::HostName> names_;
  std::map<std::string, std::size_t> index_;
};

}  // namespace cloche::gateway
