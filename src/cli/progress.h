// Progress on stderr of work that takes longer than a second.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace cloche::cli {

class Progress {
 public:
  enum class Voice { kSpeak, kQuiet };
  Progress(std::string_view what, Voice voice) : what_(what), voice_(voice) {}

  // "cloche: WHAT: TEXT", at most once a second and not in the first. Cheap to ask.
  bool due();
  void show(std::string_view text);

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  Voice voice_;
  Clock::time_point next_ = Clock::now() + std::chrono::seconds(1);
};

}  // namespace cloche::cli
