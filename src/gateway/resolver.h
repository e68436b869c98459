// Resolver: asks the host's nameservers for addresses of names, and for nothing else. A stub: /etc/hosts first, then
// the nameservers of /etc/resolv.conf in turn. The texts come from the engine; this process reads no file.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gateway/loop.h"
#include "gateway/task.h"
#include "proto/dns_message.h"
#include "proto/host_name.h"
#include "proto/ip_address.h"
#include "proto/resolv_conf.h"

namespace cloche::gateway {

class Resolver {
 public:
  Resolver(Loop& loop, std::string_view resolv_conf, std::string_view hosts);

  // Addresses, those of version 4 first; at least one.
  Task<Result<std::vector<proto::IpAddress>>> resolve(proto::HostName name);

 private:
  using Found = Result<std::vector<proto::IpAddress>>;
  // A lookup that is under way, and who waits for it too.
  struct Lookup {
    std::vector<Gate*> waiting;
    std::optional<Found> found;
  };
  Task<Found> look_up(const proto::HostName& name);
  struct Answer {
    std::vector<proto::IpAddress> addresses;
    Clock::time_point end;
  };
  struct Half {  // one of the two questions
    std::vector<proto::IpAddress> addresses;
    std::chrono::seconds ttl{0};
    bool answered = false;
  };
  Task<void> ask(const proto::HostName& name, std::uint16_t type, Half& half);
  Task<Result<proto::DnsReply>> ask_by_datagram(const proto::IpAddress& server, const proto::HostName& name,
                                                std::uint16_t type);
  Task<Result<proto::DnsReply>> ask_by_stream(const proto::IpAddress& server, const proto::HostName& name,
                                              std::uint16_t type);

  Loop& loop_;
  proto::ResolvConf conf_;
  proto::Hosts hosts_;
  std::map<std::string, Answer> cache_;
  std::map<std::string, std::shared_ptr<Lookup>> under_way_;
};

}  // namespace cloche::gateway
