#include "gateway/meter.h"

#include <algorithm>
#include <chrono>

namespace cloche::gateway {

std::string_view Meter::add_connection() {
  ++connections_;
  return limits_.connections && connections_ > *limits_.connections ? "net.limits.connections" : "";
}

std::string_view Meter::add(Way way, std::uint64_t bytes) {
  (way == Way::kIn ? in_ : out_) += bytes;
  if (limits_.rate && *limits_.rate > 0) {
    const auto cost = std::chrono::nanoseconds(
        static_cast<std::int64_t>(static_cast<double>(bytes) / static_cast<double>(*limits_.rate) * 1e9));
    free_ = std::max(free_, Clock::now()) + cost;
    held_ += cost;
  }
  if (limits_.bytes_in && in_ > *limits_.bytes_in) return "net.limits.bytes_in";
  if (limits_.bytes_out && out_ > *limits_.bytes_out) return "net.limits.bytes_out";
  return "";
}

std::chrono::microseconds Meter::waited(Clock::time_point now) const {
  return std::chrono::duration_cast<std::chrono::microseconds>(held_ - std::max(free_ - now, Clock::duration{0}));
}

std::size_t Meter::most_at_once(std::size_t wanted) const {
  if (!limits_.rate) return wanted;
  constexpr std::uint64_t kSlices = 20;  // a second
  return std::min<std::size_t>(wanted, std::max<std::uint64_t>(*limits_.rate / kSlices, 512));
}

}  // namespace cloche::gateway
