// Asks the kernel what it knows by calls that cannot succeed: their error tells whether the call exists. No process,
// descriptor or namespace is made.
#pragma once

#include "plan/host_facts.h"

namespace cloche::host {

void probe_system_calls(HostFacts& facts);  // landlock, mount API, pidfd, clone3, close_range, seccomp, kernel, arch
void probe_identity(HostFacts& facts);      // ids, groups, capabilities, set-uid
void probe_machine(HostFacts& facts);       // cpus, memory

// A container engine's filter answers EPERM to a clone into a user namespace before the kernel sees the arguments.
enum class CloneAnswer : unsigned char { kReachesKernel, kFiltered };
CloneAnswer ask_user_namespace_clone();

}  // namespace cloche::host
