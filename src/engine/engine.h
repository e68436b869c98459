// The facade: one call from a request to a report.
#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "files/whereabouts.h"
#include "keeper/client.h"
#include "plan/host_facts.h"
#include "plan/plan.h"
#include "plan/request.h"
#include "policy/policy.h"
#include "report/report.h"
#include "supervise/supervisor.h"

namespace cloche {

// The operator's ceiling: what lies there holds for every door.
inline constexpr const char* kSystemCeiling = "/etc/cloche/ceiling.toml";

// Starts a plan on the tier that it names.
Result<Cell> start_cell(const Plan& plan, const LaunchContext& context);

// Places of our own that a grant may hold; none where the guest is granted nothing of the host.
std::vector<OwnPlace> places_to_hide(const Policy& policy, const Request& request);

// Looks at what only this policy and request make worth looking at: a user's tasks, for tier 0; workspaces; sockets;
// places to hide.
void complete_facts(HostFacts& host, const Policy& policy, const Request& request);
void complete_facts(HostFacts& host, const Policy& policy, const Request& request, std::vector<OwnPlace> to_hide);

// A report for a run that never started.
Report refusal(const Request& request, const Policy& policy, const Error& error);

// Whether prepared cells are used, and whose.
struct KeeperUse {
  enum class When : std::uint8_t { kNever, kIfRunning, kAlways };
  When when = When::kNever;
  std::string directory;
};

// A starter that takes the keeper's cell where that can serve the plan, and starts one itself otherwise or (unless
// `only`) when the keeper fails.
Starter starter_with(std::shared_ptr<keeper::Client> client, bool only);

// What can begin before anything is known of the policy: the way to the keeper or, without one, a first process such as
// most runs need. What a run cannot use is ended.
struct HeadStart {
  std::shared_ptr<keeper::Client> keeper;
  bool only_keeper = false;        // nothing but its cells will do
  std::optional<Error> no_keeper;  // so this is the end of it
  Spawned first;
  std::unique_ptr<Janitor>* janitor = nullptr;  // where the run's goes, dismissed; null: its end is waited for at once
  bool in_host_program = false;                 // whose memory is not for a janitor to share
  bool hands_out = false;  // files to places on the host, where a janitor may have to remove a tree
};
HeadStart begin_early(const KeeperUse& keeper);

inline files::ViewKind view_kind(const Workspace& workspace) {
  return workspace.copied ? files::ViewKind::kCopy : files::ViewKind::kOverlay;
}

// What a guest wrote, after its end.
struct Leftovers {
  Fd scratch;
  DiskImage image;                              // the scratch, if that lies on the disk; ends with it
  WorkDirectory disk;                           // in which the changes to workspaces lie, if not in the scratch
  std::vector<Fd> roots;                        // the workspaces on the host, in the order of the plan
  std::vector<files::Whereabouts> whereabouts;  // of what is in them
  timespec started{};          // before the first process; the guest began in a later tick of the clock of files
  timespec copied{};           // when copies were complete
  Janitor* janitor = nullptr;  // the engine's; null: it removes no trees
};
// Called when the guest is gone, before the report is given out; may add to it.
using Keep = std::function<void(const Plan& plan, const Leftovers& left, Report& report)>;

// Plans, launches, supervises and reports, on the calling thread; for a program that ends after it. Every failure is an
// outcome in the report.
Report run(const Policy& policy, const Request& request, const HostFacts& host, RunWiring wiring, HeadStart head,
           const Keep& keep = {});

}  // namespace cloche
