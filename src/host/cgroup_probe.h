// Finds where a run may make its cgroup leaf. Reads only; nothing is made or moved here.
//
// Version 2: the highest directory from our own cgroup upwards that we may write, whose cgroup.procs we may write (the
// kernel asks this of the common ancestor for every migration) and which has the controllers for its children or can
// get them: a cgroup other than the root refuses controllers for its children while it holds processes.
// Version 1: each controller has a tree of its own; our own cgroup in it, if writable, or a directory that an
// administrator gave away. A hybrid host has an empty version 2 tree beside the version 1 controllers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "host/files.h"
#include "host/proc_text.h"
#include "plan/host_facts.h"

namespace cloche::host {

struct CgroupQuery {
  std::string root;       // prefix of every path that is read
  std::uint32_t uid = 0;  // names the delegated directory, cloche-<uid>
  std::uint64_t pid = 0;  // our own, as cgroup.procs shows it
  std::string named;      // CLOCHE_CGROUP: a relative name below each mount; empty: not set
  // A hook, because root may write everywhere and the tests also run as root.
  std::function<Access(const std::string&)> access = host::write_access;
};

struct CgroupProbe {
  CgroupFacts facts;
  bool kill_file = false;  // cgroup.kill was seen next to the parent
  bool at_root = false;    // the parent lies directly below the hierarchy's root, which never has cgroup.kill
};

CgroupProbe probe_cgroups(std::string_view self_cgroup, const std::vector<Mount>& mounts, const CgroupQuery& query);

// "team/x" is good; absolute names, empty parts, "." and ".." are not.
bool is_good_cgroup_name(std::string_view name);

}  // namespace cloche::host
