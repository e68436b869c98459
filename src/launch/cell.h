// Cell: one launched sandbox. Owns its first process, its cgroup, its pipes and, on tier 0, its work directory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "launch/cgroup.h"
#include "launch/disk_image.h"
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
  std::shared_ptr<const Plan> shared = nullptr;  // the plan, if it may be kept
  Spawned* early = nullptr;  // a first process that was started before there was a plan; taken if it fits
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

// Somebody else's cell on loan; its end tells the owner that the run is over.
class Lease {
 public:
  Lease() = default;
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  virtual ~Lease() = default;
};

struct Inspection;  // supervise/read_back.h

// A guest-to-be that said it is ready before the run began.
struct Parked {
  pid_t guest = 0;
  std::uint32_t probe = 0;
  Fd notifier = {};  // what its filter tells is read from here
  // If it was looked at then: what was seen, and the receipt that this is for one plan.
  std::shared_ptr<const Inspection> seen = nullptr;
  std::shared_ptr<const Plan> plan = nullptr;
  std::vector<ReceiptLine> receipt = {};
};

struct Cell {
  std::unique_ptr<Lease> lease;  // first: goes last
  std::optional<Parked> parked;
  Spawned process;
  CgroupLeaf cgroup;
  CgroupLeaf::Doors doors;  // release with the process's memory
  WorkDirectory work;
  DiskImage image;                // behind the scratch, where that is no memory
  WorkDirectory disk;             // what takes the changes to workspaces, where that is no memory
  std::vector<std::string> argv;  // in place of the plan's, which several runs may share
  std::vector<Fd> grants;         // bwrap: the places that were checked, in the order of plan.grants
  Fd out;                         // read ends of the guest's stdout and stderr
  Fd err;
  Fd in;                       // write end of its stdin, if asked for
  Fd oom;                      // readable when the memory limit was hit, if it is watched already
  std::vector<Fd> stdio;       // the guest's ends, until it gets them
  std::uint32_t host_uid = 0;  // the guest's, on the host
  std::uint64_t greeted = 0;   // when init began, if its first message was taken before the run's loop saw it
};

// Cgroup with its limits, the first process in its namespaces and in the cgroup.
Result<Cell> begin(const Plan& plan, const LaunchContext& context, const SpawnSpec& spec);
// The guest's pipes. Once init has its steps: it waits for those, and for these only at its end.
Status make_stdio(Cell& cell, bool pass_stdin);

// Waits until init has been exec'd: an ordinary user cannot write the id maps of a process that still shares the
// memory of a non-dumpable engine.
Status await_hello(Cell& cell);

// Hands init the steps and the descriptors; from here on it works by itself.
Status send_spec(const Plan& plan, const LaunchContext& context, Cell& cell, const std::vector<Fd>& mounts);
// Makes the run's groups, if they are not there yet, and lets init in. After the spec: init needs them last.
Status send_groups(const Plan& plan, const LaunchContext& context, Cell& cell);
Status send_groups(const Fd& control, const CgroupLeaf::Doors& doors);
Status send_spec_bytes(const Fd& control, const std::string& bytes, const std::vector<int>& fds);

// Hands the guest-to-be what it becomes, with its stdin, stdout and stderr.
Status send_go(const Plan& plan, Cell& cell);
Status send_terminate(const Cell& cell, int signal);

}  // namespace cloche
