// NetworkRecord: what the report says of a run's way out. A guest chooses how much there is to say, so lists are
// bounded, and what is often said does not take the room of what is said once.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <tuple>

#include "report/network.h"
#include "supervise/kept_list.h"

namespace cloche {

class NetworkRecord {
 public:
  void add(const Connection& connection);
  void add(const Call& call);
  void add(const GrantChange& change);
  void set_tally(std::uint64_t lost, std::chrono::microseconds rate_waited);

  const NetworkUse& use() const { return use_; }

 private:
  using Refusal = std::tuple<Via, std::uint16_t, std::string, std::string, std::string>;  // port, name, address, reason
  using Place = std::tuple<Verdict, std::uint16_t, std::string>;                          // port, name or else address
  using RefusedCall = std::tuple<std::string, std::string, std::string>;                  // socket, method, reason
  using CallPlace = std::tuple<Verdict, std::string, std::string>;                        // socket, method

  NetworkUse use_;
  KeptList<Connection, Refusal, Place> connections_;
  KeptList<Call, RefusedCall, CallPlace> calls_;
};

}  // namespace cloche
