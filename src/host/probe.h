// The door of this room: HostFacts of the machine we run on. The fast probe is part of every run and makes no process;
// the full probe, for doctor, really makes a cell's namespaces in a child of its own and tells what happened.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/host_facts.h"

namespace cloche {

enum class ProbeDepth : std::uint8_t { kFast, kFull };

struct ProbeOptions {
  ProbeDepth depth = ProbeDepth::kFast;
  std::string root;                          // prefix of every file that is read; tests put a fake host there
  std::vector<std::string> init_candidates;  // first acceptable one wins; empty: beside us, libexec, install prefix
  std::string init_override;                 // CLOCHE_INIT, tried before the candidates
  std::string cgroup_name;                   // CLOCHE_CGROUP, a relative name below the controllers' mounts
};

// Options from the environment, which counts for nothing in a program with more rights than its caller (AT_SECURE).
ProbeOptions probe_options_from_environment();

HostFacts probe(const ProbeOptions& options);
HostFacts probe_fast();
// Only what a first process needs: who we are, where init lies, and whether there is cgroup v2, all else unknown.
HostFacts probe_first();
HostFacts probe_full();

// Processes and threads that this real uid has now, for HostFacts::user_tasks. Reads all of /proc, so it is no part of
// a probe: only tier 0 as an ordinary user needs it, whose RLIMIT_NPROC counts all of them.
std::uint64_t count_user_tasks(std::uint32_t uid, const std::string& root = {});

// For HostFacts::proc_entries; no part of a probe either, since only bwrap needs it.
std::vector<std::string> list_proc(const std::string& root = {});

}  // namespace cloche
