// Who is at the other end of a socket. The kernel keeps the number of whoever connected, or listened, for as long as
// the socket is open, by whomever; the process may have ended, and its number may be another's by now. So the process
// itself is held.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace cloche::keeper {

class Peer {
 public:
  // An error where it is gone already.
  static Result<Peer> of(const Fd& socket);

  pid_t pid() const { return pid_; }
  uid_t uid() const { return uid_; }
  // A pidfd; not valid before Linux 6.5.
  const Fd& handle() const { return handle_; }
  // Whether it has not ended. What was read below /proc/PID before was its own then, and nobody else's.
  bool lives() const;

 private:
  pid_t pid_ = 0;
  uid_t uid_ = 0;
  Fd handle_;
  std::string started_;  // when, where there is no handle: the number had that process when we first saw it
};

// Whether a number that came again is always noticed.
bool peers_have_handles();

}  // namespace cloche::keeper
