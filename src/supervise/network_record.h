// NetworkRecord: what the report says of a run's way out. A guest chooses how much there is to say, so lists are
// bounded, and what is often said does not take the room of what is said once.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "report/network.h"

namespace cloche {

class NetworkRecord {
 public:
  void add(const Connection& connection);
  void add(const Call& call);
  void add(const GrantChange& change);
  void set_tally(std::uint64_t lost, std::chrono::microseconds rate_waited);

  const NetworkUse& use() const { return use_; }

 private:
  void keep(const Connection& connection);

  NetworkUse use_;
  using Refusal = std::tuple<Via, std::uint16_t, std::string, std::string, std::string>;  // port, name, address, reason
  std::map<Refusal, std::size_t, std::less<>> refused_;           // where they are in the record
  using Place = std::tuple<Verdict, std::uint16_t, std::string>;  // port, name or else address
  std::map<Place, std::size_t, std::less<>> places_;              // where the last of each is in the record
  std::array<std::size_t, kVerdictCount> further_{};              // places behind the first connections
};

}  // namespace cloche
