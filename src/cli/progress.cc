#include "cli/progress.h"

#include <unistd.h>

#include "cli/console.h"

namespace cloche::cli {

bool Progress::due() { return voice_ == Voice::kSpeak && Clock::now() >= next_; }

void Progress::show(std::string_view text) {
  if (!due()) return;
  next_ = Clock::now() + std::chrono::seconds(1);
  put(STDERR_FILENO, "cloche: " + what_ + ": " + std::string(text) + "\n");
}

}  // namespace cloche::cli
