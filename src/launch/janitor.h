// Janitor: a tiny process beside the engine that removes directories (cgroups, tier-0 work directories) which an
// engine killed by SIGKILL would leave behind (K7), and that takes the removal of cgroups off a run's own time. One per
// engine, started with the first such directory.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "launch/spawn.h"
#include "wire/directory_id.h"

namespace cloche {

class Janitor {
 public:
  // kProgram: a program of its own. kShared: a process in this program's memory, which starts in a tenth of the time;
  // for a command that ends with its run, has one thread and makes cgroups only.
  enum class Home : std::uint8_t { kProgram, kShared };
  explicit Janitor(std::string init_path, Home home = Home::kProgram) : init_path_(std::move(init_path)), home_(home) {}
  ~Janitor();
  Janitor(const Janitor&) = delete;
  Janitor& operator=(const Janitor&) = delete;

  Home home() const { return home_; }

  // kInUse: a cgroup whose run belongs to somebody else; waited for, not killed.
  // kCopy: a directory where others may write; removed only if it is the one that identify() tells of, or empty.
  enum class Kind : char { kCgroup = 'c', kDirectory = 'd', kCopy = 'g', kInUse = 'u' };
  // Before the directories are made, so that there is no moment in which nobody knows of them.
  Status watch(Kind kind, const std::vector<std::string>& paths);
  // After it was made, before anything is put into it.
  Status identify(const std::string& path, const wire::DirectoryId& id);
  // What is watched already belongs to somebody else's run from now on (kInUse).
  void lend(const std::vector<std::string>& paths);
  // Cgroups that are done with: removed by the janitor. False if there is none that could.
  bool hand_over(const std::vector<std::string>& paths);
  // After they were removed.
  void forget(const std::vector<std::string>& paths);

  // Starts it if it does not run (any more). Called early, so that its exec is over when the cell's own begins.
  Status start();
  // How often it was started. Whoever watches for its end, by this descriptor, looks at another one when the count
  // changes.
  unsigned births() const { return births_; }
  int pidfd() const { return process_.pidfd.get(); }
  // Somebody killed it: another one learns what it knew, if it knew anything.
  Status revive() { return known_.empty() ? Status{} : start(); }
  // Nothing more will be asked of it: it removes what is left, if anything is, and ends. The destructor waits for that.
  void dismiss();

 private:
  bool is_dead() const;
  bool tell(char verb, const std::vector<std::string>& paths);
  Status tell(const std::string& records);

  std::string init_path_;
  Home home_;
  struct Known {
    Kind kind;
    std::optional<wire::DirectoryId> id = {};
  };
  static std::string records_of(const std::string& path, const Known& known);

  std::map<std::string, Known> known_;  // what it is to know
  std::size_t handed_ = 0;
  unsigned births_ = 0;
  Spawned process_;  // keeps the memory that the child reads until its exec; nobody waits for that
};

}  // namespace cloche
