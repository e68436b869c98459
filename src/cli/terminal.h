// The caller's terminal and signals, for as long as a run lasts.
#pragma once

#include <signal.h>
#include <termios.h>

#include "base/fd.h"
#include "base/result.h"

namespace cloche::cli {

// Raw mode, so that every key, also Ctrl-C, goes to the guest's own terminal. Given back when it goes out of scope.
class RawTerminal {
 public:
  static Result<RawTerminal> enter(int fd);
  RawTerminal(RawTerminal&& other) noexcept;
  RawTerminal& operator=(RawTerminal&&) = delete;
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  ~RawTerminal();

 private:
  RawTerminal(int fd, const termios& before) : fd_(fd), before_(before) {}

  int fd_;
  termios before_;
};

// SIGINT, SIGTERM and SIGHUP as a descriptor: the run ends in order and its report is still written. A signal that the
// caller made us ignore (nohup) stays ignored.
Result<Fd> cancel_signals();
Result<Fd> resize_signal();
// Whether one of them has come, for those who ask in between; it stays to be read.
bool has_come(const Fd& signals);
void ignore_broken_pipes();

}  // namespace cloche::cli
