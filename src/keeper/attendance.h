// The attendant of a resident keeper: a process that is begun, and begun anew when it has ended.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/fd.h"
#include "base/units.h"
#include "sys/poller.h"

namespace cloche::keeper {

class Attendance {
 public:
  // `program`: what it is; `directory`: where it listens.
  Attendance(std::string program, std::string directory)
      : program_(std::move(program)), directory_(std::move(directory)) {}

  // Begins one where there is none, if it is time for it: our end of its socket.
  std::optional<Fd> begin(Poller& poller);
  // When begin() wants to be called next.
  Clock::time_point next() const { return running_ ? Clock::time_point::max() : next_; }
  // For a short while: one that is at a run ends after it.
  void wait_for_end();
  const std::string& program() const { return program_; }
  pid_t pid() const { return running_ ? pid_ : 0; }

 private:
  void on_end();
  void try_later();

  std::string program_;
  std::string directory_;
  bool running_ = false;
  pid_t pid_ = -1;
  Fd pidfd_;
  Poller::Watch watch_;
  Clock::time_point begun_{};
  Clock::time_point next_{};
  unsigned in_vain_ = 0;  // ended right after their start, one after the other
};

}  // namespace cloche::keeper
