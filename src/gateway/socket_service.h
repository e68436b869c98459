// Sockets of the host, as the guest sees them: granted, ended and counted like hosts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "egress/settings.h"
#include "gateway/loop.h"

namespace cloche::gateway {

class LiveSockets {
 public:
  LiveSockets(std::vector<egress::Socket> sockets, Clock::time_point now);

  const egress::Socket& at(std::size_t index) const { return items_.at(index).socket; }
  std::size_t size() const { return items_.size(); }
  bool is_granted(std::size_t index) const { return items_.at(index).granted; }

  Status grant(std::string_view path, const egress::Lasts& lasts, Clock::time_point now);
  Status revoke(std::string_view path);
  Clock::time_point next_end() const;
  std::vector<std::string> expire(Clock::time_point now);

 private:
  struct Item {
    egress::Socket socket;
    bool granted = true;
    Clock::time_point end;
  };
  Item* find(std::string_view path);

  std::vector<Item> items_;
};

}  // namespace cloche::gateway
