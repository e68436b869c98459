#include "report/outcome_info.h"

namespace cloche {
namespace {

constexpr std::array<OutcomeInfo, kOutcomeKindCount> kOutcomes = {{
    {OutcomeKind::kExited, "exited", -1, "the guest's own", "", "",
     "The guest's main process ended by itself and no cause below came first."},
    {OutcomeKind::kSignaled, "signaled", -1, "128 + signal", "",
     "the guest crashed by itself, its own messages say more",
     "The guest's main process died of a signal that the engine did not send."},
    {OutcomeKind::kWall, "wall", 124, "124", "limits.wall", "raise it with --wall or limits.wall",
     "The engine's clock passed the limit before the guest ended; the tree got SIGTERM, then SIGKILL after the grace "
     "period. A guest that exits with 0 on that SIGTERM is still a time-out."},
    {OutcomeKind::kCpu, "cpu", 137, "137", "limits.cpu_time", "raise it with --cpu-time or limits.cpu_time",
     "The cell's cpu time, all its processes together, passed the limit."},
    {OutcomeKind::kOom, "oom", 137, "137", "limits.memory", "raise it with --memory or limits.memory",
     "The kernel counted an out-of-memory kill in the cell."},
    {OutcomeKind::kPids, "pids", 137, "137", "limits.pids", "raise it with --pids or limits.pids",
     "The kernel counted a refused fork and the guest failed. A guest that copes with the refusal and exits with 0 "
     "is `exited`; the count stands in `usage.forks_refused`."},
    {OutcomeKind::kDisk, "disk", 137, "137", "limits.disk", "raise it with --disk or limits.disk",
     "The cell's writable space or its file count was used up and the guest failed."},
    {OutcomeKind::kOutput, "output", 137, "137", "limits.output", "raise it with --output or limits.output",
     "stdout and stderr together passed the limit; the tree was killed."},
    {OutcomeKind::kNetwork, "network", 137, "137", "net.limits", "raise the limit in net.limits",
     "The traffic through the gateway passed a limit of the policy; the tree was killed."},
    {OutcomeKind::kDenied, "denied", 137, "137", "",
     "see the denials in the report; a program built for another architecture needs a native build",
     "The guest's main process died of SIGSYS, which is how the system-call filter ends who uses another "
     "architecture's calls. A guest that sends itself this signal ends the same way: the kernel tells the two apart "
     "to the dead process only."},
    {OutcomeKind::kCancelled, "cancelled", 130, "130", "", "nothing to change, the caller asked for it",
     "The caller's cancel handle fired before the guest ended."},
    {OutcomeKind::kRefused, "refused", 126, "126", "", "`cloche doctor` shows what this host can enforce",
     "Nothing was started: the policy is wrong, the ceiling forbids it, or this host cannot enforce it."},
    {OutcomeKind::kFailed, "failed", 125, "125", "",
     "`cloche doctor` checks this host; if all is well there, please report this as a defect of cloche",
     "The engine or the kernel failed: the cell could not be built, or was lost before its end was known."},
}};

constexpr bool rows_follow_the_enum() {
  for (std::size_t i = 0; i < kOutcomes.size(); ++i) {
    if (static_cast<std::size_t>(kOutcomes[i].kind) != i) return false;
  }
  return true;
}
static_assert(rows_follow_the_enum());
static_assert(static_cast<std::size_t>(OutcomeKind::kFailed) + 1 == kOutcomeKindCount);

}  // namespace

const OutcomeInfo& info(OutcomeKind kind) { return kOutcomes.at(static_cast<std::size_t>(kind)); }

const std::array<OutcomeInfo, kOutcomeKindCount>& all_outcomes() { return kOutcomes; }

std::vector<std::string_view> limit_keys(const OutcomeInfo& row) {
  if (row.kind == OutcomeKind::kNetwork) return {kNetworkLimits.begin(), kNetworkLimits.end()};
  return row.limit.empty() ? std::vector<std::string_view>() : std::vector{row.limit};
}

std::string_view limit_of(const Outcome& outcome) {
  return outcome.kind == OutcomeKind::kNetwork ? outcome.network_limit : info(outcome.kind).limit;
}

Severity severity(const Outcome& outcome) {
  switch (outcome.kind) {
    case OutcomeKind::kExited:
      return outcome.code == 0 ? Severity::kGood : Severity::kGuest;
    case OutcomeKind::kSignaled:
    case OutcomeKind::kCancelled:
      return Severity::kGuest;
    default:
      return Severity::kStopped;
  }
}

}  // namespace cloche
