// Timeline: where a run's time went, as consecutive steps. Each begins where the one before ended; what init measured
// inside the cell is put between what the engine saw.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/report.h"
#include "sys/poller.h"
#include "wire/wire.h"

namespace cloche {

class Timeline {
 public:
  void begin(Clock::time_point at) { last_ = at; }
  void until(std::string_view step, Clock::time_point at);
  // CLOCK_MONOTONIC in nanoseconds, as a process of the cell saw it; 0: it never got there.
  void until(std::string_view step, std::uint64_t stamp);
  // The phases of a cell's preparation, which ended at `stamp`.
  void add_phases(const std::uint32_t (&took)[wire::kPhases], std::uint64_t stamp);
  // Not part of the row: runs beside the step that follows.
  void beside(std::string_view step, Clock::time_point at);

  std::vector<TimingStep> take() { return std::move(steps_); }

 private:
  void add(std::string_view step, Clock::duration took);

  Clock::time_point last_{};
  std::vector<TimingStep> steps_;
};

}  // namespace cloche
