#include <unistd.h>

#include <cerrno>

#include "launch/id_map.h"
#include "tiers/tiers.h"

namespace cloche {

Result<Cell> start_process(const Plan& plan, const LaunchContext& context) {
  SpawnSpec spec;
  spec.argv = {"cloche-init"};
  spec.init_path = *context.host.init;
  WorkDirectory work;
  if (plan.scratch_on_host) {
    CLOCHE_TRY_ASSIGN(work, WorkDirectory::make("/tmp/cloche-" + context.id, context.janitor));
  }
  CLOCHE_TRY_ASSIGN(Cell cell, begin(plan, context, spec));
  cell.work = std::move(work);
  cell.host_uid = plan.own_host_uid ? kGuestUidBase + static_cast<std::uint32_t>(cell.process.pid) : context.host.uid;
  if (plan.own_host_uid && ::chown(cell.work.path().c_str(), cell.host_uid, cell.host_uid) != 0) {
    return fail_errno(errno, "work directory", "could not be given to the guest");
  }
  CLOCHE_TRY(send_spec(plan, context, cell, {}));
  CLOCHE_TRY(send_groups(plan, context, cell));
  CLOCHE_TRY(make_stdio(cell, context.pass_stdin));
  return cell;
}

}  // namespace cloche
