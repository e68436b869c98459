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
  enum class Voice { kSpeak, kQuiet };
  explicit Ticker(std::string_view command, Voice voice = Voice::kSpeak) : command_(command), voice_(voice) {}

  // Whether the next line will be shown; for those whose text costs something.
  bool due() const { return voice_ == Voice::kSpeak && Clock::now() - last_ >= std::chrono::seconds(1); }

  void operator()(std::string_view step) {
    if (!due()) return;
    last_ = Clock::now();
    put(STDERR_FILENO, fmt::format("cloche: {}: {}\n", command_, printable(step)));
  }

 private:
  std::string_view command_;
  Voice voice_;
  Clock::time_point last_ = Clock::now();
};

}  // namespace cloche::cli
