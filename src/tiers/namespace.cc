#include <fcntl.h>
#include <sched.h>

#include <cerrno>

#include "launch/host_mounts.h"
#include "launch/id_map.h"
#include "sys/file.h"
#include "tiers/tiers.h"

namespace cloche {

namespace {
constexpr std::uint64_t kNetwork = CLONE_NEWNET;

Status send_steps(const Plan& plan, const LaunchContext& context, Cell& cell) {
  if (!plan.disk_scratch.empty()) {
    CLOCHE_TRY_ASSIGN(cell.disk, WorkDirectory::make(plan.disk_scratch, context.janitor));
  }
  std::vector<Fd> mounts;
  if (!plan.host_mounts.empty()) {
    CLOCHE_TRY_ASSIGN(mounts, clone_host_mounts(plan.host_mounts, cell.host_uid));
  }
  if (!plan.own_disk.empty()) {
    CLOCHE_TRY_ASSIGN(cell.image,
                      DiskImage::make({plan.own_disk, plan.scratch_bytes.count, plan.scratch_inodes}, cell.host_uid));
    Fd shared(::fcntl(cell.image.mount(), F_DUPFD_CLOEXEC, 0));
    if (!shared.valid()) return fail_errno(errno, "disk image", "there is no descriptor left for it");
    mounts.push_back(std::move(shared));
  }
  return send_spec(plan, context, cell, mounts);
}

}  // namespace

SpawnSpec first_process(const HostFacts& host) {
  SpawnSpec spec;
  spec.namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;
  // Init makes the network's namespace itself, beside its other work.
  spec.argv = {"cloche-init", "net"};
  spec.init_path = host.init.value_or("");
  spec.drop_groups = host.is_root;
  return spec;
}

Result<Cell> start_namespace(const Plan& plan, const LaunchContext& context) {
  SpawnSpec spec = first_process(context.host);
  // What was started before there was a plan is the usual cell; another kind needs another first process.
  const bool usual = spec.namespaces == (plan.namespaces & ~kNetwork) && spec.drop_groups == plan.own_host_uid;
  spec.namespaces = plan.namespaces & ~kNetwork;
  spec.drop_groups = plan.own_host_uid;
  if ((plan.namespaces & kNetwork) == 0) spec.argv.resize(1);
  LaunchContext suited = context;
  if (!usual) suited.early = nullptr;
  CLOCHE_TRY_ASSIGN(Cell cell, begin(plan, suited, spec));
  const auto pid = static_cast<std::uint32_t>(cell.process.pid);
  cell.host_uid = plan.own_host_uid ? kGuestUidBase + pid : context.host.uid;
  const std::uint32_t host_gid = plan.own_host_uid ? cell.host_uid : context.host.gid;
  if (!context.host.is_root) CLOCHE_TRY(await_hello(cell));
  CLOCHE_TRY(write_id_map(cell.process.pid, {plan.inside_uid, plan.inside_gid, cell.host_uid, host_gid}));
  CLOCHE_TRY(send_steps(plan, context, cell));
  CLOCHE_TRY(send_groups(plan, context, cell));
  CLOCHE_TRY(make_stdio(cell, context.pass_stdin));
  return cell;
}

Status furnish(const Plan& plan, const LaunchContext& context, Cell& cell) {
  for (const std::string& path : plan.grants) {
    if (auto place = sys::open_without_symlinks(path); !place) return std::unexpected(place.error());
  }
  CLOCHE_TRY(cell.cgroup.apply(plan.cgroup));
  CLOCHE_TRY_ASSIGN(cell.doors, cell.cgroup.open_doors());
  CLOCHE_TRY(send_steps(plan, context, cell));
  return send_groups(cell.process.control, cell.doors);
}

}  // namespace cloche
