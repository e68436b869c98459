// What to install or set, lack by lack. One place, so that two lacks never share a sentence by accident.
#pragma once

#include <string>

#include "plan/host_facts.h"

namespace cloche::hints {

std::string landlock(const HostFacts& host, int abi);  // a kernel with at least this Landlock ABI
std::string seccomp();
std::string cgroup(const HostFacts& host, Controller controller);
std::string cgroup_any(const HostFacts& host);
std::string groups();
std::string own_uid(const HostFacts& host);
std::string nproc();
std::string namespaces();  // a guarantee that only tier 1 gives
std::string native();      // what only the native backend does
std::string choose_a_backend();

std::string no_init();
std::string no_bwrap();
std::string set_uid();
std::string open_files();
std::string user_namespaces(const HostFacts& host);
std::string old_kernel(const HostFacts& host);

}  // namespace cloche::hints
