// The receipt: after set-up and before the guest's first instruction, the cell is inspected from outside. Each planned
// guarantee gets what the kernel answered; one that was promised and does not hold is an error, and the guest never
// starts (X1, X2, CONTAINMENT 63).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "egress/settings.h"
#include "plan/plan.h"
#include "report/report.h"
#include "supervise/readings.h"

namespace cloche {

// Everything that was read about one guest-to-be.
struct Inspection {
  std::map<std::string, std::string> status;
  std::map<std::string, RlimitReading> limits;
  std::vector<MountReading> mounts;
  std::map<std::string, std::string> cgroups;
  std::map<std::string, std::string> namespaces;    // "net" → "net:[4026532]", where it differs from the engine's
  std::map<std::string, std::string> cgroup_files;  // "pids.max" → "65"
  std::string uid_map;
  std::string core_pattern;  // the host's
  std::uint32_t probe = 0;   // wire::ProbeBits
  std::uint32_t host_uid = 0;
  // A file system of the cell's own on the disk, asked at the engine's end.
  struct OwnDisk {
    std::string device;  // "7:0"
    std::uint64_t bytes = 0;
    std::uint64_t files = 0;
  };
  std::optional<OwnDisk> own_disk = {};
  std::optional<egress::Limits> gateway_limits = {};
  std::string gateway;  // what was read of it, if it is as it must be
  bool leased = false;  // a keeper's cell: init's parent is not the engine
};

// The kernel's own words, as they were read.
struct Transcript {
  std::string status, limits, mountinfo, cgroup, uid_map;  // of /proc/PID
  std::string core_pattern;
  std::map<std::string, std::string> namespaces;    // where they differ from the engine's
  std::map<std::string, std::string> cgroup_files;  // filled by the caller, who owns the leaf
  bool operator==(const Transcript&) const = default;
};
// `own` are the engine's namespaces, which can be read ahead.
std::map<std::string, std::string> own_namespaces();
// What every process of a mount namespace sees, which can be read ahead, too.
struct View {
  std::string mount_namespace;
  std::string mountinfo;
};
Result<View> view_of(pid_t pid);
Result<Transcript> transcribe(pid_t pid, const std::map<std::string, std::string>& own, const View& known = {});
// Pure.
Inspection understand(const Transcript& text);

// Pure: judges an inspection against the plan.
Result<std::vector<ReceiptLine>> judge(const Plan& plan, const Inspection& seen);

}  // namespace cloche
