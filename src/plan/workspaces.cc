// Which directories take the guest's changes, and how.
#include <algorithm>

#include <fmt/format.h>

#include "plan/steps.h"

namespace cloche {
namespace {

constexpr std::uint64_t kOverlayInodes = 4;  // directories of its own
constexpr std::size_t kMostWorkspaces = 64;

const WorkspaceFacts* facts_of(const HostFacts& host, const std::string& path) {
  const auto found = std::ranges::find(host.workspaces, path, &WorkspaceFacts::path);
  return found == host.workspaces.end() ? nullptr : &*found;
}

std::unexpected<Error> refuse(std::string message, std::string hint) {
  return fail(ErrorCode::kRefused, "workspace", std::move(message), std::move(hint));
}

std::vector<std::string> covered_by_grants(const std::string& path, const StepContext& context) {
  std::vector<std::string> out;
  for (const Grant& grant : sorted_grants(context)) {
    if (lies_below(grant.path, path)) out.push_back(grant.path.substr(path.size() + 1));
  }
  return out;
}

bool is_writable_place(const std::string& path, const Plan& plan) {
  for (const char* own : {"/work", "/tmp", "/home/guest"}) {
    if (lies_below(path, own)) return true;
  }
  return std::ranges::any_of(plan.workspaces, [&](const Workspace& w) { return lies_below(path, w.path); });
}

Status settle_puts(const Plan& plan, const StepContext& context) {
  const Request& request = context.request;
  if (request.puts.empty() && !request.keeps_files) return {};
  if (plan.backend != Backend::kNamespace) {
    return fail(ErrorCode::kRefused, "files",
                "putting files in and getting them out takes the native backend of tier 'namespace'",
                "leave the backend and the tier out, or grant a directory with files.write");
  }
  const std::vector<Grant> grants = sorted_grants(context);
  for (const Put& put : request.puts) {
    // What is granted is the host's own.
    const bool granted = std::ranges::any_of(
        grants, [&](const Grant& grant) { return put.to == grant.path || lies_below(put.to, grant.path); });
    if (is_writable_place(put.to, plan) && !granted) continue;
    return fail(ErrorCode::kRefused, "put", fmt::format("'{}' is not a place where files can be put", put.to),
                "name one below /work, /tmp, /home/guest or a workspace");
  }
  return {};
}

// An overlay would serve, but for some of the guest's own files. A copy serves for all of them, and takes memory and
// time: up to what the policy lets the guest write anyway, nobody need be asked.
void weigh_copy(Workspace& workspace, const WorkspaceFacts& facts, const Plan& plan, const Workspaces& wanted) {
  const bool small = facts.bytes <= plan.limits.disk.count && facts.entries <= plan.limits.inodes;
  workspace.copied = small && wanted.mode == WorkspaceMode::kAuto;
  workspace.why = facts.unchangeable + (workspace.copied ? ", and a cell knows one" : ", which only a copy can change");
}

// In a plan that nobody carries out there is no directory yet.
std::string disk_place(const Request& request) {
  return (request.run_directory.empty() ? "/RUN" : request.run_directory) + "/scratch";
}

// The kernel holds the limit where the scratch is a file system of its own. A copy shares blocks with the tree that it
// was made of, which takes the tree's file system, so it is watched; so is what an ordinary user runs.
void settle_disk(Plan& plan, const StepContext& context) {
  constexpr std::uint64_t kBytesPerInode = 4 << 20;  // with fewer, ext4 would make more of them
  const bool enough = plan.scratch_inodes >= plan.scratch_bytes.count / kBytesPerInode;
  if (plan.own_host_uid && context.host.disk_images && enough &&
      std::ranges::none_of(plan.workspaces, &Workspace::copied)) {
    plan.own_disk = std::exchange(plan.disk_scratch, {});
    plan.own_disk.resize(plan.own_disk.rfind('/'));
    return;
  }
  for (const Workspace& workspace : plan.workspaces) {
    plan.watched.push_back(fmt::format("{}/{}/{}", plan.disk_scratch, workspace.scratch, wire::kUpperName));
  }
}

}  // namespace

Status settle_workspaces(Plan& plan, const StepContext& context) {
  const Workspaces& wanted = context.policy.workspace;
  plan.keep = wanted.keep;
  plan.scratch_bytes = plan.limits.disk;
  plan.scratch_inodes = plan.limits.inodes;
  plan.keeps_scratch = context.request.keeps_files || !wanted.path.empty();
  const bool on_disk = wanted.scratch == WorkspaceScratch::kDisk && !wanted.path.empty();
  if (on_disk) plan.disk_scratch = disk_place(context.request);
  if (wanted.path.size() > kMostWorkspaces) {
    return refuse(fmt::format("{} workspaces are more than {}", wanted.path.size(), kMostWorkspaces), "name fewer");
  }
  for (const std::string& named : wanted.path) {
    Workspace workspace;
    workspace.path = expand_home(named, context.home);
    if (!workspace.path.starts_with('/')) {
      return refuse(fmt::format("'{}' is not an absolute path", workspace.path), "name it from the root on");
    }
    workspace.scratch = fmt::format("workspace-{}", plan.workspaces.size());
    workspace.covered = covered_by_grants(workspace.path, context);
    const WorkspaceFacts* facts = facts_of(context.host, workspace.path);
    const bool cannot = facts != nullptr && !facts->no_overlay.empty();
    if (cannot && wanted.mode == WorkspaceMode::kOverlay) {
      return refuse(fmt::format("overlayfs cannot serve '{}': {}", workspace.path, facts->no_overlay),
                    "set workspace.mode = \"auto\": a copy serves it");
    }
    workspace.copied = cannot || wanted.mode == WorkspaceMode::kCopy;
    if (cannot) workspace.why = facts->no_overlay;
    if (facts != nullptr && !workspace.copied && !facts->unchangeable.empty()) {
      weigh_copy(workspace, *facts, plan, wanted);
    }
    workspace.maps_owners = facts == nullptr || facts->maps_owners;
    if (!workspace.maps_owners && !facts->closed.empty()) {
      return refuse(fmt::format("the file system of '{}' cannot map owners, and not everybody may read '{}'",
                                workspace.path, facts->closed),
                    "move it to ext4, xfs, btrfs or tmpfs, or let everybody read what is in it");
    }
    if (workspace.copied && facts != nullptr && !on_disk) {
      plan.scratch_bytes.count += facts->bytes;
      plan.scratch_inodes += facts->entries;
    }
    plan.scratch_inodes += kOverlayInodes;
    plan.workspaces.push_back(std::move(workspace));
  }
  if (on_disk) settle_disk(plan, context);
  return settle_puts(plan, context);
}

}  // namespace cloche
