// SIGINT and SIGTERM as a descriptor: a benchmark ends between two runs and puts its cells away.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

class Interrupt {
 public:
  // Before any thread is made: they inherit what is blocked.
  Interrupt() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    fd_ = ::signalfd(-1, &signals, SFD_CLOEXEC);
  }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt() { ::close(fd_); }

  bool seen() const {
    pollfd one{fd_, POLLIN, 0};
    return ::poll(&one, 1, 0) > 0;
  }

  // Until somebody closes our input, or wants us to end.
  void wait_for_end_of_input() const {
    pollfd both[] = {{fd_, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    ::poll(both, 2, -1);
  }

 private:
  int fd_ = -1;
};
