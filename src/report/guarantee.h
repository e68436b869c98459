// Guarantee: one promise about a cell. Every plan step serves one, every receipt line answers one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cloche {

enum class Guarantee : std::uint8_t {
  kEnvironment,  // variables come from an allowlist
  kDescriptors,  // nothing open but the declared map
  kSession,      // own session, no host terminal
  kEngineDeath,  // the cell dies with the engine
  kTreeKill,     // every descendant can be killed
  kIdentity,     // unprivileged uid, no groups
  kNoNewPrivs,
  kCapabilities,  // all five sets empty, securebits locked
  kKeyring,
  kProcesses,   // sees and signals only its own
  kFileSystem,  // own root, nothing of the host's but grants
  kFileAccess,  // Landlock on top
  kProcView,
  kDevices,
  kNetwork,
  kIpc,
  kHostname,
  kSystemCalls,
  kCoreDumps,
  kWall,
  kCpuTime,
  kCpuShare,
  kMemory,
  kPids,
  kOpenFiles,
  kOutput,
  kDisk,
  kWorkspace,  // the host's tree stays as it is
  kGateway,    // what parses the guest's traffic is confined itself
  kTraffic,    // limits on what goes through it
};
inline constexpr std::size_t kGuaranteeCount = 30;

std::string_view to_string(Guarantee);  // "environment", "no-new-privs", "cpu-time", ...
std::string_view describe(Guarantee);   // one line for people
std::optional<Guarantee> guarantee_from(std::string_view name);
const std::array<Guarantee, kGuaranteeCount>& all_guarantees();

}  // namespace cloche
