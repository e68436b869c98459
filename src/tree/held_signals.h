// Signals that end a program, held back while a tree is neither what it was nor what it shall be.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace cloche::tree {

// For the calling thread: what comes meanwhile comes when this goes out of scope. Also the signal of a broken pipe,
// which telling of the progress may raise.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::sigaddset(&set, number);
    ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  ~HeldSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace cloche::tree
