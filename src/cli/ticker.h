// Progress on stderr, a line a second, once something takes longer than one.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <string_view>

#include "base/units.h"
#include "cli/console.h"
#include "report/text.h"

namespace cloche::cli {

class Ticker {
 public:
  explicit Ticker(std::string_view command) : command_(command) {}

  void operator()(std::string_view step) {
    const auto now = Clock::now();
    if (now - last_ < std::chrono::seconds(1)) return;
    last_ = now;
    put(STDERR_FILENO, fmt::format("cloche: {}: {}\n", command_, printable(step)));
  }

 private:
  std::string_view command_;
  Clock::time_point last_ = Clock::now();
};

}  // namespace cloche::cli
