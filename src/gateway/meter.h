// Meter: net.limits, for all connections of the run together.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/units.h"
#include "egress/settings.h"

namespace cloche::gateway {

enum class Way : std::uint8_t { kIn, kOut };  // towards the guest, from it

class Meter {
 public:
  explicit Meter(const egress::Limits& limits) : limits_(limits) {}

  const egress::Limits& limits() const { return limits_; }
  // The name of the limit that this was too much for, or nothing.
  std::string_view add_connection();
  std::string_view add(Way way, std::uint64_t bytes);
  // When the next bytes may flow.
  Clock::time_point free_at() const { return free_; }
  // For how long, up to now, the rate held something up; connections that waited at the same time count once.
  std::chrono::microseconds waited(Clock::time_point now) const;
  bool has_rate() const { return limits_.rate.has_value(); }
  // How many bytes may be taken at once, so that a slow rate is slow evenly.
  std::size_t most_at_once(std::size_t wanted) const;

 private:
  egress::Limits limits_;
  std::uint64_t in_ = 0;
  std::uint64_t out_ = 0;
  std::uint64_t connections_ = 0;
  Clock::time_point free_{};
  Clock::duration held_{0};  // also what is still ahead, until `free_`
};

}  // namespace cloche::gateway
