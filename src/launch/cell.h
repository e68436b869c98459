// Cell: one launched sandbox. Owns its first process, its cgroup, its pipes and, on tier 0, its work directory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "launch/cgroup.h"
#include "launch/janitor.h"
#include "launch/spawn.h"
#include "plan/plan.h"

namespace cloche {

struct LaunchContext {
  const HostFacts& host;
  Janitor& janitor;
  std::string id;           // names the cgroup and the work directory
  bool pass_stdin = false;  // a pipe instead of an empty stdin
  unsigned tty_rows = 24;
  unsigned tty_cols = 80;
};

// Owns a directory on the host until the run is over.
class WorkDirectory {
 public:
  WorkDirectory() = default;
  WorkDirectory(WorkDirectory&& other) noexcept;
  WorkDirectory& operator=(WorkDirectory&& other) noexcept;
  WorkDirectory(const WorkDirectory&) = delete;
  WorkDirectory& operator=(const WorkDirectory&) = delete;
  ~WorkDirectory() { (void)remove(); }
  static Result<WorkDirectory> make(const std::string& path, Janitor& janitor);
  const std::string& path() const { return path_; }
  Status remove();

 private:
  std::string path_;
  Janitor* janitor_ = nullptr;
};

struct Cell {
  Spawned process;
  CgroupLeaf cgroup;
  CgroupLeaf::Doors doors;  // release with the process's memory
  WorkDirectory work;
  std::vector<Fd> grants;  // bwrap: the places that were checked, in the order of plan.grants
  Fd out;                  // read ends of the guest's stdout and stderr
  Fd err;
  Fd in;                       // write end of its stdin, if asked for
  std::uint32_t host_uid = 0;  // the guest's, on the host
};

// Cgroup with its limits, pipes, the first process in its namespaces and in the cgroup.
struct Begun {
  Cell cell;
  std::vector<Fd> stdio;  // the guest's ends
};
Result<Begun> begin(const Plan& plan, const LaunchContext& context, const SpawnSpec& spec);

// Waits until init has been exec'd: an ordinary user cannot write the id maps of a process that still shares the
// memory of a non-dumpable engine.
Status await_hello(Cell& cell);

// Hands init the steps and the descriptors; from here on it works by itself.
Status send_spec(const Plan& plan, const LaunchContext& context, Begun& begun, const std::vector<Fd>& mounts);

Status send_go(const Cell& cell);
Status send_terminate(const Cell& cell, int signal);

}  // namespace cloche
