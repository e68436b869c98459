// What a backend can give of a policy, whatever the host is like. make_plan refuses by it, and whoever advises a line
// of a policy asks it first.
#include <fmt/format.h>

#include "plan/plan.h"

namespace cloche {
namespace {

std::unexpected<Error> refuse(std::string step, std::string message, std::string hint) {
  return fail(ErrorCode::kRefused, std::move(step), std::move(message), std::move(hint));
}

Status workspaces_fit(const Plan& plan, const Policy& policy) {
  if (policy.workspace.path.empty() || plan.backend == Backend::kNamespace) return {};
  return refuse("workspace",
                fmt::format("backend '{}' on tier '{}' cannot keep a directory as it is while the guest changes it",
                            to_string(plan.backend), to_string(plan.tier)),
                "use tier = \"namespace\" with the native backend, or copy the directory");
}

Status way_out_fits(const Plan& plan, const Policy& policy) {
  if (policy.loopback && plan.backend == Backend::kProcess) {
    return refuse("net.loopback", "tier 'process' has no loopback of its own, only the host's",
                  "use tier = \"namespace\"");
  }
  if (!policy.needs_gateway() || plan.backend == Backend::kNamespace) return {};
  const char* key = !policy.net_allow.empty() ? "net.allow" : !policy.sockets.empty() ? "sockets.allow" : "secrets";
  return refuse(key,
                fmt::format("backend '{}' on tier '{}' has no network of its own in which a gateway could stand",
                            to_string(plan.backend), to_string(plan.tier)),
                "use tier = \"namespace\" with the native backend");
}

Status grants_fit(const Plan& plan, const Policy& policy) {
  if (plan.backend != Backend::kBwrap || !plan.own_host_uid || policy.files.write.empty()) return {};
  return refuse("files.write", "bwrap under root cannot map a directory's owner to the guest",
                "use backend native, or run as the owner of the directory");
}

}  // namespace

Status fits_backend(const Plan& plan, const Policy& policy) {
  CLOCHE_TRY(workspaces_fit(plan, policy));
  CLOCHE_TRY(way_out_fits(plan, policy));
  return grants_fit(plan, policy);
}

}  // namespace cloche
