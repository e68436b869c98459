// Hosts that nobody has on one desk, for tests.
#pragma once

#include <string>

#include "plan/host_facts.h"

namespace cloche::samples {

inline void set_parent(HostFacts& host, Controller controller, const std::string& path) {
  host.cgroup.parent[static_cast<std::size_t>(controller)] = path;
}

inline HostFacts stock_user() {
  HostFacts host;
  host.kernel = "6.12.9-amd64";
  host.uid = 1000;
  host.gid = 1000;
  host.supplementary_groups = 2;
  host.cpus = 4;
  host.memory = std::uint64_t{8} << 30;
  host.user_namespaces = true;
  host.mount_api = true;
  host.proc_mountable = true;
  host.landlock_abi = 6;
  host.seccomp_filter = true;
  host.seccomp_notify = true;
  host.pidfd = true;
  host.clone3 = true;
  host.close_range = true;
  host.nproc_per_namespace = true;
  host.uid_span = 4294967295;
  host.bwrap = "/usr/bin/bwrap";
  host.init = "/usr/libexec/cloche/cloche-init";
  host.cgroup.why_not = "cgroup v2: no directory from /sys/fs/cgroup/user.slice upwards is writable by uid 1000";
  return host;
}

inline HostFacts root_v1() {
  HostFacts host = stock_user();
  host.uid = 0;
  host.gid = 0;
  host.supplementary_groups = 3;
  host.is_root = true;
  host.cgroup = {};
  host.cgroup.version = CgroupFacts::Version::kV1;
  for (const Controller controller : kControllers) {
    set_parent(host, controller, "/sys/fs/cgroup/" + std::string(to_string(controller)) + "/cloche");
  }
  return host;
}

inline HostFacts v2_session() {
  HostFacts host = stock_user();
  host.supplementary_groups = 0;
  host.cgroup = {};
  host.cgroup.version = CgroupFacts::Version::kV2;
  host.cgroup_kill = true;
  for (const Controller controller : {Controller::kPids, Controller::kMemory, Controller::kCpu}) {
    set_parent(host, controller, "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/cloche");
  }
  return host;
}

inline HostFacts without_user_namespaces(std::string why) {
  HostFacts host = stock_user();
  host.user_namespaces = false;
  host.user_namespaces_why = std::move(why);
  return host;
}

inline HostFacts container() {
  HostFacts host = without_user_namespaces("a system-call filter around this process answers EPERM to clone");
  host.in_container = true;
  host.clone3 = false;
  host.mount_api = false;
  host.proc_mountable = false;
  return host;
}

inline HostFacts ubuntu_apparmor() {
  return without_user_namespaces("kernel.apparmor_restrict_unprivileged_userns is 1");
}

inline HostFacts without_landlock() {
  HostFacts host = v2_session();
  host.landlock_abi = 0;
  return host;
}

inline HostFacts v1_nothing_writable() {
  HostFacts host = stock_user();
  host.supplementary_groups = 0;
  host.cgroup.why_not = "cgroup v1: /sys/fs/cgroup/pids is not writable by uid 1000";
  return host;
}

inline HostFacts old_kernel() {
  HostFacts host = stock_user();
  host.kernel = "5.10.0-21-amd64";
  host.mount_api = false;
  host.landlock_abi = 0;
  host.nproc_per_namespace = false;
  return host;
}

}  // namespace cloche::samples
