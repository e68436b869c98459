// Tells whether the mounts that this process sees have changed.
#pragma once

#include <utility>

#include "base/fd.h"
#include "base/result.h"

namespace cloche::sys {

class MountChanges {
 public:
  static Result<MountChanges> open();

  // Whether any mount came, went or changed since this was opened, asked before, or told by a poller (EPOLLPRI): each
  // change is told once.
  bool any() const;
  const Fd& descriptor() const { return file_; }

 private:
  explicit MountChanges(Fd file) : file_(std::move(file)) {}
  Fd file_;  // /proc/self/mountinfo
};

}  // namespace cloche::sys
