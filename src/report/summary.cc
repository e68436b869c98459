#include <fmt/core.h>

#include <csignal>
#include <cstring>

#include "report/outcome_info.h"
#include "report/paint.h"
#include "report/render.h"
#include "report/text.h"

namespace cloche {
namespace {

// A message may quote the guest at any length; the hint after it must stay in sight.
constexpr std::size_t kMessageColumns = 400;

std::string signal_text(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

std::string made_sentence(const Report& report) {
  const Outcome& outcome = report.outcome;
  const Usage& usage = report.usage;
  switch (outcome.kind) {
    case OutcomeKind::kExited:
      return fmt::format("the guest ended with code {}", outcome.code);
    case OutcomeKind::kSignaled:
      return fmt::format("the guest died of {}", signal_text(outcome.signal));
    case OutcomeKind::kWall:
      return fmt::format("stopped after {} (limits.wall)", human(usage.wall));
    case OutcomeKind::kCpu:
      return fmt::format("stopped after {} of cpu time (limits.cpu_time)",
                         human(Seconds(usage.cpu_user) + usage.cpu_system));
    case OutcomeKind::kOom:
      return usage.memory_peak.count == 0
                 ? "killed out of memory (limits.memory)"
                 : fmt::format("killed out of memory at {} (limits.memory)", human(usage.memory_peak));
    case OutcomeKind::kPids:
      return fmt::format("the guest failed because {} {} refused (limits.pids)", usage.forks_refused,
                         usage.forks_refused == 1 ? "fork was" : "forks were");
    case OutcomeKind::kDisk:
      return "the guest used up its disk space (limits.disk)";
    case OutcomeKind::kOutput:
      return fmt::format("stopped after {} of output (limits.output)",
                         human(Bytes{usage.stdout_bytes + usage.stderr_bytes}));
    case OutcomeKind::kNetwork:
      return fmt::format("stopped at a limit of the network ({})",
                         outcome.network_limit.empty() ? info(outcome.kind).limit : limit_of(outcome));
    case OutcomeKind::kDenied:
      return "killed by the system-call filter";
    case OutcomeKind::kCancelled:
      return fmt::format("stopped by the caller after {}", human(usage.wall));
    case OutcomeKind::kRefused:
      return "nothing was started";
    case OutcomeKind::kFailed:
      return "the cell could not be built, or was lost";
  }
  return {};
}

}  // namespace

std::string sentence(const Report& report) {
  const Outcome& outcome = report.outcome;
  std::string text = outcome.message.empty() ? made_sentence(report) : printable(outcome.message);
  if (!outcome.step.empty()) text = printable(outcome.step) + ": " + text;
  return text;
}

std::string advice(const Report& report) {
  const Outcome& outcome = report.outcome;
  if (!outcome.hint.empty()) return printable(outcome.hint);
  if (outcome.kind == OutcomeKind::kSignaled && outcome.signal == SIGKILL) {
    // No limit of ours did it, or the outcome would say so. Who else did cannot be seen.
    return "no limit of cloche's did it: it killed itself, or something outside did, often the host running out of "
           "memory: "
           "see the kernel's log";
  }
  if (!outcome.network_limit.empty()) return "raise " + outcome.network_limit;
  return std::string(info(outcome.kind).hint);
}

std::string workspace_line(const WorkspaceChanges& changes) {
  std::string out = fmt::format("{}: {} added, {} changed, {} deleted", printable(changes.path), changes.added,
                                changes.modified, changes.deleted);
  if (!changes.problem.empty()) out = printable(changes.path) + ": nothing was kept: " + printable(changes.problem);
  return out;
}

namespace {

// What waits for somebody to decide on it, however the guest ended.
std::string proposals(const Report& report) {
  std::string out;
  bool any = false;
  for (const WorkspaceChanges& changes : report.workspaces) {
    if (changes.problem.empty() && changes.added + changes.modified + changes.deleted == 0) continue;
    any = any || changes.problem.empty();
    out += fmt::format("cloche: workspace {}\n", fit(workspace_line(changes), kMessageColumns));
  }
  if (any) out += fmt::format("cloche: cloche diff {0} shows it, cloche apply {0} writes it\n", printable(report.id));
  return out;
}

std::string denial_line(const Report& report, bool recorded) {
  const std::string text = denial_summary(report);
  if (text.empty()) return {};
  const std::string more = recorded ? fmt::format(" (cloche why {})", printable(report.id)) : "";
  return fmt::format("cloche: denied: {}{}\n", fit(text, kMessageColumns), more);
}

}  // namespace

std::string render_summary(const Report& report, const RenderOptions& options) {
  const Severity how = severity(report.outcome);
  const std::string denied = denial_line(report, options.recorded);
  if (how == Severity::kGood) return denied + proposals(report);
  const std::string hint = fit(advice(report), kMessageColumns);
  std::string out = paint(fmt::format("cloche: {}:", to_string(report.outcome.kind)), hue_of(how), options.colour);
  out += " " + fit(sentence(report), kMessageColumns);
  if (!hint.empty()) out += "; " + hint;
  out += "\n";
  out += denied;
  if (report.network && report.network->denied_total + report.network->calls_denied_total != 0) {
    // The sum, and the first that was denied: often the reason why the guest failed.
    for (const std::string& line : network_lines(*report.network, 2)) {
      out += fmt::format("cloche: network: {}\n", fit(line, kMessageColumns));
    }
  }
  return out + proposals(report);
}

}  // namespace cloche
