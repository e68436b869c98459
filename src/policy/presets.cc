#include "policy/presets.h"

#include <fmt/format.h>

#include <array>

#include "policy/text.h"

namespace cloche {
namespace {

constexpr std::array<PresetInfo, 3> kPresets{{
    {"untrusted", "code nobody vouches for: no network, no environment, small limits, nothing it wrote is executed"},
    {"adapter", "a command-line tool of a workflow: medium trust, locale passed, room for a real program"},
    {"dev",
     "your own code on your own machine: development mode, tier process is enough, limits as far as the host can"},
}};

Policy untrusted() {
  Policy policy;
  policy.name = "untrusted";
  policy.tier = Tier::kNamespace;
  policy.trust = Trust::kLow;
  policy.net = NetMode::kNone;
  policy.limits.wall = Millis(60'000);
  policy.limits.grace = Millis(2'000);
  policy.limits.cpu_time = Millis(30'000);
  policy.limits.cpus = 1.0;
  policy.limits.memory = mebibytes(512);
  policy.limits.pids = 64;
  policy.limits.files = 256;
  policy.limits.output = mebibytes(8);
  policy.limits.disk = mebibytes(256);
  policy.limits.inodes = 16'384;
  policy.files.exec_writable = false;
  // The kernel lets an ordinary user map one group only with setgroups denied, and then the other groups stay. Said
  // here by its word, so that a search for weaken finds it.
  policy.weaken = {Weakening::kSupplementaryGroups};
  return policy;
}

Policy adapter() {
  Policy policy;
  policy.name = "adapter";
  policy.tier = Tier::kNamespace;
  policy.trust = Trust::kMedium;
  policy.net = NetMode::kNone;
  policy.limits.cpus = 2.0;
  policy.limits.memory = gibibytes(2);
  policy.limits.pids = 512;
  policy.limits.files = 1024;
  policy.limits.output = mebibytes(32);
  policy.limits.disk = gibibytes(1);
  policy.limits.inodes = 65'536;
  policy.files.exec_writable = false;
  policy.env.pass = {"LANG", "LC_*", "TZ"};
  policy.weaken = {Weakening::kSupplementaryGroups};
  return policy;
}

Policy dev() {
  Policy policy;
  policy.name = "dev";
  policy.tier = Tier::kProcess;
  policy.trust = Trust::kMedium;
  policy.development = true;
  policy.net = NetMode::kNone;
  policy.limits.mode = LimitsMode::kBestEffort;
  policy.limits.cpus = 4.0;
  policy.limits.memory = gibibytes(8);
  policy.limits.pids = 4096;
  policy.limits.files = 4096;
  policy.limits.output = mebibytes(256);
  policy.limits.disk = gibibytes(8);
  policy.limits.inodes = 1'000'000;
  policy.files.exec_writable = true;
  policy.env.pass = {"LANG", "LC_*", "TZ", "TERM"};
  policy.weaken = {Weakening::kSupplementaryGroups};
  return policy;
}

}  // namespace

std::span<const PresetInfo> presets() { return kPresets; }

Result<Policy> preset(std::string_view name) {
  if (name == "untrusted") return untrusted();
  if (name == "adapter") return adapter();
  if (name == "dev") return dev();
  std::array<std::string_view, kPresets.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kPresets[i].name;
  return fail(ErrorCode::kInvalidInput, "preset", fmt::format("there is no preset {}", shown_text(name)),
              fmt::format("the nearest is \"{}\"; choose {}", nearest_word(name, names), join_quoted(names)));
}

}  // namespace cloche
