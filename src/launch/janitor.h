// Janitor: a tiny process beside the engine that removes directories (cgroups, tier-0 work directories) which an
// engine killed by SIGKILL would leave behind (K7). One per engine, started with the first such directory.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "launch/spawn.h"

namespace cloche {

class Janitor {
 public:
  explicit Janitor(std::string init_path) : init_path_(std::move(init_path)) {}
  ~Janitor();
  Janitor(const Janitor&) = delete;
  Janitor& operator=(const Janitor&) = delete;

  enum class Kind : char { kCgroup = 'c', kDirectory = 'd' };
  // Before the directories are made, so that there is no moment in which nobody knows of them.
  Status watch(Kind kind, const std::vector<std::string>& paths);
  // For a program that is about to end: lets the janitor end by itself, unwaited for.
  void leave();
  // After they were removed.
  void forget(const std::vector<std::string>& paths);

  // Starts it if it does not run yet. Called early, so that its exec is over when the cell's own begins.
  Status start();

 private:
  Status tell(const std::string& records);

  std::string init_path_;
  std::size_t watched_ = 0;
  Spawned process_;  // keeps the memory that the child reads until its exec; nobody waits for that
};

}  // namespace cloche
