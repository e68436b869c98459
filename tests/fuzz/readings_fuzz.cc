// Feeds the parsers of /proc/PID/status, limits, mountinfo and cgroup, and the judge above them, with text of which a
// guest shapes parts (its name, its mount points).
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "plan/plan.h"
#include "supervise/read_back.h"
#include "supervise/readings.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  cloche::Inspection seen;
  seen.status = cloche::parse_status(text);
  seen.limits = cloche::parse_limits(text);
  seen.mounts = cloche::parse_mountinfo(text);
  seen.cgroups = cloche::parse_cgroup(text);
  for (const cloche::MountReading& mount : seen.mounts) {
    // What a guest names (root, point) may hold anything, escaped; nothing of it gets into the other fields.
    for (const std::string* field : {&mount.id, &mount.options, &mount.type, &mount.super_options, &mount.device}) {
      if (field->find_first_of(" \n") != std::string::npos) __builtin_trap();
    }
    if (mount.point.empty() || mount.point.size() > size) __builtin_trap();
  }
  for (const auto& [name, limit] : seen.limits) {
    if (limit.soft.empty() || limit.hard.empty()) __builtin_trap();
  }

  cloche::Plan plan;
  plan.tier = cloche::Tier::kNamespace;
  plan.limits.cpu_time = cloche::Millis(1'000);
  for (const cloche::Guarantee g : cloche::all_guarantees()) {
    plan.guarantees = {{g, cloche::Standing::kHeld, "", ""}};
    (void)cloche::judge(plan, seen);
  }
  // No text of the kernel's says what the probes of the guest-to-be say; without them nothing passes whole.
  plan.guarantees.clear();
  for (const cloche::Guarantee g : cloche::all_guarantees()) {
    plan.guarantees.push_back({g, cloche::Standing::kHeld, "", ""});
  }
  if (cloche::judge(plan, seen)) __builtin_trap();
  return 0;
}
