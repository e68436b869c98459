// Janitor: a tiny process beside the engine that removes directories (cgroups, tier-0 work directories) which an
// engine killed by SIGKILL would leave behind (K7). One per engine, started with the first such directory.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace cloche {

class Janitor {
 public:
  explicit Janitor(std::string init_path) : init_path_(std::move(init_path)) {}
  ~Janitor();
  Janitor(const Janitor&) = delete;
  Janitor& operator=(const Janitor&) = delete;

  // Before the directory is made, so that there is no moment in which nobody knows of it.
  Status watch_cgroup(const std::string& path) { return tell("+c" + path); }
  Status watch_directory(const std::string& path) { return tell("+d" + path); }
  // After it was removed.
  void forget(const std::string& path) { (void)tell("-" + path); }

 private:
  Status tell(const std::string& record);
  Status start();

  std::string init_path_;
  Fd socket_;
  Fd pidfd_;  // not a Spawned: the janitor is never killed, it ends when it has nothing left to do
};

}  // namespace cloche
