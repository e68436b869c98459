// The few instructions between clone and exec. The child shares the engine's memory while the engine runs on, so this
// code touches nothing but its own stack and what the spec points at, calls no libc function and takes no lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/sweep.h"

namespace cloche {

// CLOCK_MONOTONIC, in nanoseconds.
struct ChildTimes {
  std::uint64_t born = 0;
  std::uint64_t apart = 0;  // in all of its namespaces
};

enum Moved : std::uint32_t {
  kNotMoved = 0,
  kMoved,       // by the engine
  kNotAwaited,  // the child went on without: it has given itself its cpus already
};

struct ChildSpec {
  int control_fd = -1;  // becomes 3, and fills 0, 1 and 2 until the real ones arrive
  int init_fd = -1;     // O_PATH descriptor of cloche-init
  const char* const* argv = nullptr;
  int stdio_fd = -1;  // fills 0, 1 and 2 instead
  bool own_session = false;
  const int* keep = nullptr;  // become 4, 5, …
  int keep_count = 0;
  const int* cgroups = nullptr;  // v1: "tasks" files of the run's groups; the child enters them itself
  int cgroup_count = 0;
  // Made by the child itself, because the network's takes longer than all else and the engine has other work meanwhile.
  std::uint64_t unshare = 0;  // CLONE_NEW*
  ChildTimes* times = nullptr;
  // The cpus that it may use, given back to it after the engine has moved it to another cpu than its own: the kernel
  // would have it wait there until the engine sleeps.
  const unsigned long* cpus = nullptr;
  std::size_t cpus_size = 0;
  std::uint32_t* moved = nullptr;  // a Moved
  std::uint64_t ambient_caps = 0;  // carried over the exec: a new user namespace would lose them otherwise
};

struct CloneArgs {  // struct clone_args of the kernel, version 2
  std::uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};

// Returns the child's pid or a negative errno; the child runs run_child on the given stack and never returns.
long clone_child(const CloneArgs& args, const ChildSpec& spec);

// A janitor that goes on in the caller's memory instead of executing a program: for a command that ends soon, whose
// memory then lives as long as the janitor. It needs its stack and its list for ever.
struct JanitorSpec {
  int control_fd = -1;
  wire::SweepList* list = nullptr;
};
long clone_janitor(const CloneArgs& args, const JanitorSpec& spec);

// A process that opens its own user namespace into the caller's descriptors and ends: it shares memory and descriptors
// with the caller, who waits for it (CLONE_VFORK). Nobody else could open the namespace of a process that is not
// dumpable without the right to trace it.
struct HolderSpec {
  int fd = -1;  // the namespace, or a negative errno
};
long clone_holder(const CloneArgs& args, HolderSpec& spec);

}  // namespace cloche
