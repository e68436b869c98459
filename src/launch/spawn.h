// Start one process exactly as told: cloche-init in the given namespaces, with the control socket and nothing else.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "launch/child/child.h"
#include "launch/id_map.h"

namespace cloche {

// The child's stack until its exec; kept by whoever waits for the child's first message.
class ChildStack {
 public:
  static Result<ChildStack> make();
  void* base() const { return memory_.get(); }
  static constexpr std::size_t kSize = 16 * 1024;

 private:
  struct Unmap {
    void operator()(void* p) const;
  };
  std::unique_ptr<void, Unmap> memory_;
};

struct SpawnSpec {
  std::uint64_t namespaces = 0;   // CLONE_NEW*; all but user and pid are made by the child itself
  std::vector<std::string> argv;  // argv[0] selects what cloche-init does
  std::string init_path;
  int cgroup_fd = -1;             // v2: born in this cgroup
  std::vector<int> cgroup_tasks;  // v1: borrowed "tasks" files, entered by the child itself
  std::vector<int> keep;          // borrowed; become descriptors 4, 5, … of the child
  bool drop_groups = false;       // root: without the engine's supplementary groups
  int stdio_fd = -1;              // borrowed; becomes 0, 1 and 2, which are the control socket otherwise
  bool own_session = false;       // no terminal of the caller's can signal it
  bool await_exec = false;        // returns when the child has its own memory
  int network = -1;               // born in this network namespace; `home` is the caller's own
  int home = -1;
  bool elsewhere = false;  // begins on another cpu than the caller's, who has more to do meanwhile
};

// What the child reads until its exec.
struct SpawnMemory {
  std::vector<std::string> strings;
  std::vector<const char*> argv;
  std::vector<Fd> keep;
  std::vector<int> cgroup_tasks;
  std::vector<int> keep_numbers;
  ChildSpec child;
  ChildTimes times;
  cpu_set_t cpus;
  std::uint32_t moved = kNotMoved;
  Fd theirs;
  Fd init;
};

// Owns the process: whatever way the owner goes, the process is gone and reaped.
struct Spawned {
  Spawned() = default;
  Spawned(Spawned&&) = default;
  Spawned& operator=(Spawned&& other) noexcept;
  ~Spawned() { end(); }
  void end();

  pid_t pid = 0;
  bool leased = false;                  // somebody else's child: ended by us, reaped by its parent
  Fd pidfd;                             // invalid once reaped
  Fd control;                           // our end, non-blocking
  ChildStack stack;                     // release after the first message
  std::unique_ptr<SpawnMemory> memory;  // release after the first message
};

// No signal handler of the host program runs in the child. Like any child that has exec'd, it sends SIGCHLD when it
// ends; should the host program reap it, nothing is lost: outcomes come by the control socket.
Result<Spawned> spawn(const SpawnSpec& spec);

// Part of `elsewhere`, for a child that waits for it. The kernel leaves a new process on its parent's cpu as long as
// that has but one task, though the others sleep. A child that waits no longer keeps all of its cpus.
void move_elsewhere(pid_t pid, SpawnMemory& memory);

// A janitor in this program's own memory (launch/janitor.h); what it reads is never freed. Never killed: it ends when
// its socket closes.
Result<Spawned> spawn_janitor();

// A user namespace without a process, only for its map. It lives as long as the descriptor.
Result<Fd> make_user_namespace(const IdMap& map);

// What a kFailed message of the child means: a wire::Failure and an errno.
Error spawn_failure(int failure, int error);

// Reaps the process if it has ended, and closes its pidfd; the wait status (0 for a leased one), or nothing.
Result<std::optional<int>> try_reap(Spawned& process);

}  // namespace cloche
