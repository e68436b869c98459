// AbstractNames: which abstract unix sockets there are in a guest's network. A guest chooses how often that is asked
// and how long the kernel's list is; how much of the engine's time it takes is not its to choose.
#pragma once

#include <sys/types.h>

#include <functional>
#include <set>
#include <string>

#include "base/units.h"

namespace cloche {

class AbstractNames {
 public:
  using Read = std::function<std::string(pid_t)>;  // the text of /proc/PID/net/unix
  AbstractNames();                                 // as the kernel tells it
  explicit AbstractNames(Read read) : read_(std::move(read)) {}

  // Whether there is a socket of that name ("@name") in the network of the process, which has to be the same for all
  // that are asked for. A list that takes long to read may be a little old.
  bool has(pid_t pid, std::string name);

 private:
  void read_again(pid_t pid);

  Read read_;
  std::set<std::string> names_;
  Clock::time_point good_until_{};
};

}  // namespace cloche
