// Takes one guarantee out of a plan, to show that the attack against it is real. Only for tests: nothing of the engine
// includes this, and what it launches is not read back.
#pragma once

#include <string_view>

#include "base/result.h"
#include "plan/plan.h"

namespace cloche::security {

// What can go:
//   filter, filter:enosys (unknown calls get EPERM), landlock, no-new-privs, capabilities, session, parent-death,
//   keyring, root-read-only, pivot, proc, affinity, environment (the caller's passes), identity:root
//   rlimit, rlimit:NAME         all of them or one of core nofile nproc fsize memlock as data cpu
//   namespaces:NAME             net ipc uts cgroup; never pid, because init ends a cell with kill(-1)
//   cgroup, cgroup:CONTROLLER   limits of the run's cgroup
//   noexec, read-only           mount flags, wherever they are set
//   scratch-caps                size and inode cap of what the guest writes
//   expose:/PATH                the host's directory appears in the cell, writable
// A word that finds nothing to remove is an error: a test that removed nothing would prove nothing.
Status weaken(Plan& plan, std::string_view what);

// The guest's exit code, 128+signal, or 125 when the cell did not start; output goes to our own stdout.
int launch_and_wait(const Plan& plan, const HostFacts& host);

}  // namespace cloche::security
