#include "report/guarantee.h"

namespace cloche {
namespace {

struct Row {
  Guarantee guarantee;
  std::string_view name;
  std::string_view description;
};

// In the order of the enum, so that a look-up is an index; checked below.
constexpr std::array<Row, kGuaranteeCount> kRows = {{
    {Guarantee::kEnvironment, "environment", "variables come from an allowlist"},
    {Guarantee::kDescriptors, "descriptors", "no descriptor is open but the declared ones"},
    {Guarantee::kSession, "session", "a session of its own, never the host's terminal"},
    {Guarantee::kEngineDeath, "engine-death", "the cell dies when the engine dies"},
    {Guarantee::kTreeKill, "tree-kill", "every descendant can be found and killed"},
    {Guarantee::kIdentity, "identity", "an unprivileged user without supplementary groups"},
    {Guarantee::kNoNewPrivs, "no-new-privs", "no exec can raise privileges"},
    {Guarantee::kCapabilities, "capabilities", "all five capability sets are empty and securebits are locked"},
    {Guarantee::kKeyring, "keyring", "a fresh session keyring and no key calls"},
    {Guarantee::kProcesses, "processes", "sees and signals only its own processes"},
    {Guarantee::kFileSystem, "file-system", "a root of its own with nothing of the host's but what was granted"},
    {Guarantee::kFileAccess, "file-access", "a second wall around file access, independent of mounts"},
    {Guarantee::kProcView, "proc-view", "/proc shows the cell only, with no kernel settings"},
    {Guarantee::kDevices, "devices", "a handful of harmless devices, and none can be made"},
    {Guarantee::kNetwork, "network", "no network but what was granted"},
    {Guarantee::kIpc, "ipc", "private System V and POSIX IPC"},
    {Guarantee::kHostname, "hostname", "a host name of its own"},
    {Guarantee::kSystemCalls, "system-calls", "only allowlisted system calls"},
    {Guarantee::kCoreDumps, "core-dumps", "no core dump reaches the host"},
    {Guarantee::kWall, "wall", "a limit on elapsed time"},
    {Guarantee::kCpuTime, "cpu-time", "a limit on cpu seconds of the whole cell"},
    {Guarantee::kCpuShare, "cpu-share", "a limit on the share of the cpus"},
    {Guarantee::kMemory, "memory", "a limit on memory of the whole cell"},
    {Guarantee::kPids, "pids", "a limit on processes and threads"},
    {Guarantee::kOpenFiles, "open-files", "a limit on open files per process"},
    {Guarantee::kOutput, "output", "a limit on bytes written to stdout and stderr"},
    {Guarantee::kDisk, "disk", "a limit on bytes and files written to disk"},
    {Guarantee::kWorkspace, "workspace", "changes to a workspace are a proposal, the host's tree stays as it is"},
    {Guarantee::kGateway, "gateway", "what parses the guest's traffic is confined itself"},
    {Guarantee::kTraffic, "traffic", "limits on bytes, connections and rate through the gateway"},
}};

constexpr bool rows_follow_the_enum() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].guarantee) != i) return false;
  }
  return true;
}
static_assert(rows_follow_the_enum());
static_assert(static_cast<std::size_t>(Guarantee::kTraffic) + 1 == kGuaranteeCount);

constexpr std::array<Guarantee, kGuaranteeCount> kAll = [] {
  std::array<Guarantee, kGuaranteeCount> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = kRows[i].guarantee;
  return all;
}();

}  // namespace

std::string_view to_string(Guarantee guarantee) { return kRows.at(static_cast<std::size_t>(guarantee)).name; }

std::string_view describe(Guarantee guarantee) { return kRows.at(static_cast<std::size_t>(guarantee)).description; }

std::optional<Guarantee> guarantee_from(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.guarantee;
  }
  return std::nullopt;
}

const std::array<Guarantee, kGuaranteeCount>& all_guarantees() { return kAll; }

}  // namespace cloche
