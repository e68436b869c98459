#include "plan/offer_hints.h"

#include <fmt/format.h>

namespace cloche::hints {
namespace {

bool names(const std::string& text, std::string_view setting) { return text.find(setting) != std::string::npos; }

std::string v1_delegation(const HostFacts& host) {
  return fmt::format(
      "as root: for c in pids memory cpu cpuacct; do install -d -o {0} /sys/fs/cgroup/$c/cloche-{0}; done", host.uid);
}

std::string v2_delegation() {
  return "start it as: systemd-run --user --scope -p Delegate=yes cloche ..., or name a delegated directory in "
         "CLOCHE_CGROUP";
}

}  // namespace

std::string landlock(const HostFacts& host, int abi) {
  if (host.landlock_abi > 0) {
    return fmt::format("Landlock ABI {} is needed and this kernel has {}: use Linux {} or newer", abi,
                       host.landlock_abi,
                       abi >= 6   ? "6.12"
                       : abi >= 4 ? "6.7"
                                  : "5.19");
  }
  if (!kernel_at_least(host.kernel, 5, 13)) {
    return fmt::format("Landlock came with Linux 5.13 and this is {}: use a newer kernel", host.kernel);
  }
  return "turn Landlock on: CONFIG_SECURITY_LANDLOCK=y and landlock in the kernel's lsm= parameter";
}

std::string seccomp() { return "use a kernel with CONFIG_SECCOMP_FILTER=y"; }

std::string cgroup(const HostFacts& host, Controller controller) {
  if (host.cgroup.version == CgroupFacts::Version::kV2) {
    return fmt::format("delegate the {0} controller: as root, Delegate=pids memory cpu in a drop-in of user@.service",
                       to_string(controller));
  }
  if (host.cgroup.version == CgroupFacts::Version::kV1) {
    return fmt::format(
        "mount the cgroup v1 controller {0}, or delegate it; as root: install -d -o {1} "
        "/sys/fs/cgroup/{0}/cloche-{1}",
        to_string(controller), host.uid);
  }
  return cgroup_any(host);
}

std::string cgroup_any(const HostFacts& host) {
  const std::string& why = host.cgroup.why_not;
  if (names(why, "CLOCHE_CGROUP")) return "correct CLOCHE_CGROUP: " + why;
  if (host.in_container && host.is_root) {
    return "give the container a writable cgroup tree: --privileged, or podman's --security-opt unmask=/sys/fs/cgroup";
  }
  if (names(why, "cgroup v1")) return v1_delegation(host);
  if (names(why, "cgroup v2")) return v2_delegation();
  if (names(why, "no cgroup")) return "mount one, as root: mount -t cgroup2 none /sys/fs/cgroup";
  return fmt::format("cgroup v2: {}; cgroup v1: {}", v2_delegation(), v1_delegation(host));
}

std::string groups() {
  return "run as root or from a session without supplementary groups, or accept them in the policy: weaken = "
         "[\"supplementary-groups\"]";
}

std::string own_uid(const HostFacts& host) {
  if (!host.is_root) {
    return "run as an ordinary user, or give this root CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID and CAP_SETPCAP";
  }
  return fmt::format("run outside of a user namespace that has only {} ids", host.uid_span);
}

std::string nproc() { return "use tier namespace, whose count is its own, or make a pids cgroup writable"; }

std::string namespaces() { return "use tier namespace"; }

std::string native() { return "use backend native"; }

std::string choose_a_backend() { return "backend none is for development: leave it out of the policy"; }

std::string no_init() {
  return "install cloche whole (libexec/cloche/cloche-init), or name the file in CLOCHE_INIT; it must belong to you or "
         "root and be writable by nobody else";
}

std::string no_bwrap() { return "apt install bubblewrap"; }

std::string set_uid() { return "remove the set-uid and set-gid bits and file capabilities from the program"; }

std::string user_namespaces(const HostFacts& host) {
  const std::string& why = host.user_namespaces_why;
  if (names(why, kSettingUsernsClone)) return fmt::format("as root: sysctl -w {}=1", kSettingUsernsClone);
  if (names(why, kSettingMaxUserns)) return fmt::format("as root: sysctl -w {}=15000", kSettingMaxUserns);
  if (names(why, kSettingAppArmor)) {
    return fmt::format("as root: sysctl -w {}=0, or give cloche an AppArmor profile with the rule userns",
                       kSettingAppArmor);
  }
  if (host.in_container || names(why, kSettingOuterFilter)) {
    return "start the container with --security-opt seccomp=unconfined, or with --privileged";
  }
  if (host.is_root) return "use a kernel with CONFIG_USER_NS=y; until then only tier process works";
  return "run as root, or use a kernel with CONFIG_USER_NS=y; until then only tier process works";
}

std::string open_files() { return "raise the limit on open files of whoever starts cloche: ulimit -n 1024"; }

std::string old_kernel(const HostFacts& host) {
  if (kernel_at_least(host.kernel, 5, 12)) {
    return "a system-call filter around this process hides them: start the container with --security-opt "
           "seccomp=unconfined";
  }
  return fmt::format("use Linux 5.12 or newer; this is {}", host.kernel);
}

}  // namespace cloche::hints
