// Counts what a capture has done, and asks whether to go on.
#pragma once

#include <cstdint>
#include <utility>

#include "base/result.h"
#include "files/view.h"

namespace cloche::files {

class Meter {
 public:
  explicit Meter(Progress progress) : progress_(std::move(progress)) {}

  Status entry() {
    ++advance_.entries;
    return ask();
  }
  Status bytes(std::uint64_t count) {
    advance_.bytes += count;
    return ask();
  }

 private:
  Status ask() const {
    if (!progress_ || progress_(advance_) == Answer::kGoOn) return {};
    return fail(ErrorCode::kRefused, "keep the changes", "it was stopped", "nothing of this workspace is kept");
  }

  Progress progress_;
  Advance advance_;
};

}  // namespace cloche::files
