#include "supervise/timeline.h"

#include <algorithm>

namespace cloche {
namespace {

// A cell may say anything, but nothing has happened later than now.
Clock::time_point to_time(std::uint64_t stamp) {
  const auto now = Clock::now().time_since_epoch();
  const auto latest = static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
  return Clock::time_point(std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(stamp, latest))));
}

}  // namespace

void Timeline::add(std::string_view step, Clock::duration took) {
  const auto rounded = std::chrono::duration_cast<std::chrono::microseconds>(took);
  auto known = std::ranges::find(steps_, step, &TimingStep::name);
  if (known != steps_.end()) {
    known->took += rounded;
  } else {
    steps_.push_back({std::string(step), rounded});
  }
}

void Timeline::until(std::string_view step, Clock::time_point at) {
  // A step of another process may have ended before we looked.
  add(step, std::max(at - last_, Clock::duration::zero()));
  last_ = std::max(at, last_);
}

void Timeline::until(std::string_view step, std::uint64_t stamp) {
  if (stamp != 0) until(step, to_time(stamp));
}

void Timeline::add_phases(const std::uint32_t (&took)[wire::kPhases], std::uint64_t stamp) {
  constexpr const char* kNames[wire::kPhases] = {"maps", "namespaces", "mounts", "limits", "landlock", "filter"};
  for (std::uint32_t phase = 0; phase < wire::kPhases; ++phase) {
    add(kNames[phase], std::chrono::nanoseconds(took[phase]));
  }
  last_ = std::max(to_time(stamp), last_);
}

void Timeline::beside(std::string_view step, Clock::time_point at) {
  add(step, std::max(at - last_, Clock::duration::zero()));
}

}  // namespace cloche
