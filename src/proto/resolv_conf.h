// Where the host asks for names: /etc/resolv.conf and /etc/hosts, as texts. Lines that mean nothing here are passed
// over, as the C library does.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "proto/host_name.h"
#include "proto/ip_address.h"

namespace cloche::proto {

struct ResolvConf {
  std::vector<IpAddress> nameservers;  // at most 3; none: the C library would ask 127.0.0.1
  Millis timeout{5000};                // for one question to one server; 1 to 30 seconds
  unsigned attempts = 2;               // 1 to 5

  bool operator==(const ResolvConf&) const = default;
};

// No search list: whoever allows a name writes it in full. A nameserver with a zone ("fe80::1%eth0") is passed over.
ResolvConf parse_resolv_conf(std::string_view text);

struct Hosts {
  static constexpr std::size_t kMostText = 4 << 20;
  static constexpr std::size_t kMostNames = 65536;
  static constexpr std::size_t kMostAddresses = 16;  // of one name

  std::map<std::string, std::vector<IpAddress>, std::less<>> names;  // by HostName::text(); in the order of the file
  bool complete = true;  // false: a bound was reached, and the rest left out

  // Empty if there are none.
  std::vector<IpAddress> find(const HostName& name) const;
};

Hosts parse_hosts(std::string_view text);

}  // namespace cloche::proto
