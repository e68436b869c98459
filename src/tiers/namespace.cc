#include "launch/host_mounts.h"
#include "launch/id_map.h"
#include "tiers/tiers.h"

namespace cloche {

Result<Cell> start_namespace(const Plan& plan, const LaunchContext& context) {
  SpawnSpec spec;
  spec.namespaces = plan.namespaces;
  spec.argv = {"cloche-init"};
  spec.init_path = *context.host.init;
  spec.drop_groups = plan.own_host_uid;
  CLOCHE_TRY_ASSIGN(Cell cell, begin(plan, context, spec));
  const auto pid = static_cast<std::uint32_t>(cell.process.pid);
  cell.host_uid = plan.own_host_uid ? kGuestUidBase + pid : context.host.uid;
  const std::uint32_t host_gid = plan.own_host_uid ? cell.host_uid : context.host.gid;
  if (!context.host.is_root) CLOCHE_TRY(await_hello(cell));
  CLOCHE_TRY(write_id_map(cell.process.pid, {plan.inside_uid, plan.inside_gid, cell.host_uid, host_gid}));
  std::vector<Fd> mounts;
  if (!plan.host_mounts.empty()) {
    CLOCHE_TRY_ASSIGN(mounts, clone_host_mounts(plan.host_mounts, cell.host_uid, spec.init_path));
  }
  CLOCHE_TRY(send_spec(plan, context, cell, mounts));
  return cell;
}

}  // namespace cloche
