// No guest sees what Cloche keeps: the records of other runs, and the key that seals what is applied. Who knew the key
// could write a journal that the next command carries out (tree/seal.h).
#include <algorithm>

#include <fmt/format.h>

#include "plan/steps.h"

namespace cloche {
namespace {

std::unexpected<Error> refuse(std::string step, std::string message, std::string hint) {
  return fail(ErrorCode::kRefused, std::move(step), std::move(message), std::move(hint));
}

bool holds(const std::string& outer, const std::string& path) { return path == outer || lies_below(path, outer); }

// None of what the run hands to the guest may be the place, or of it.
Status stay_outside(const Plan& plan, const Request& request, const OwnPlace& place) {
  const auto refuse_inside = [&place](const char* step, const std::string& path) {
    return refuse(step, fmt::format("'{}' is of the state directory of cloche, which no guest may see", path),
                  fmt::format("copy what the guest needs from {} to another place, and name that", place.path));
  };
  for (const std::string& path : plan.grants) {
    if (holds(place.path, path)) return refuse_inside("files", path);
  }
  for (const Put& put : request.puts) {
    if (holds(place.path, put.from)) return refuse_inside("put", put.from);
    if (!lies_below(place.path, put.from) || !(place.there || place.chosen)) continue;
    return refuse("put",
                  fmt::format("'{}' has the state directory of cloche in it ('{}'), which no guest may see", put.from,
                              place.path),
                  "put what lies beside it");
  }
  if (!plan.gateway) return {};
  for (const PlannedSocket& socket : plan.gateway->sockets) {
    if (holds(place.path, socket.path)) return refuse_inside("sockets", socket.path);
  }
  return {};
}

// Whoever writes to the directory of a link on the way decides where it leads.
Status stay_where_it_is(const StepContext& context, const OwnPlace& place) {
  if (!place.chosen || place.named == place.path) return {};
  for (const Grant& grant : sorted_grants(context)) {
    if ((grant.flags & wire::kReadOnly) != 0 || !lies_below(place.named, grant.path)) continue;
    return refuse(
        "files.write",
        fmt::format("the way to the state directory of cloche, '{}', leads through a symbolic link, and a guest "
                    "that writes to '{}' could change that",
                    place.named, grant.path),
        fmt::format("set CLOCHE_STATE_DIR to {}, or grant directories beside it", place.path));
  }
  return {};
}

Status hide(Plan& plan, const OwnPlace& place) {
  for (Workspace& workspace : plan.workspaces) {
    if (!lies_below(place.path, workspace.path)) continue;
    // Files of the run itself would come and go in what the guest works on.
    if (place.chosen) {
      return refuse("workspace " + workspace.path, "runs are kept inside of it",
                    "name a directory below it, or keep runs elsewhere with CLOCHE_STATE_DIR");
    }
    workspace.covered.push_back(place.path.substr(workspace.path.size() + 1));
  }
  const auto outer =
      std::ranges::find_if(plan.grants, [&](const std::string& grant) { return lies_below(place.path, grant); });
  if (outer == plan.grants.end()) return {};
  if (plan.backend == Backend::kProcess) {
    return refuse("files",
                  fmt::format("tier 'process' cannot hide the state directory of cloche, '{}', inside of '{}'",
                              place.path, *outer),
                  "use tier = \"namespace\", or grant directories beside it");
  }
  plan.hidden.push_back(place.path);
  return {};
}

}  // namespace

Status settle_own_places(Plan& plan, const StepContext& context) {
  if (plan.backend == Backend::kNone) return {};  // hides nothing at all
  for (const OwnPlace& place : context.host.own_places) {
    CLOCHE_TRY(stay_outside(plan, context.request, place));
    CLOCHE_TRY(stay_where_it_is(context, place));
    if (place.there || place.chosen) CLOCHE_TRY(hide(plan, place));
  }
  // What lies in a hidden one is not there to be hidden.
  std::ranges::sort(plan.hidden);
  std::vector<std::string> outermost;
  for (std::string& path : plan.hidden) {
    const bool inside = std::ranges::any_of(outermost, [&](const std::string& outer) { return holds(outer, path); });
    if (!inside) outermost.push_back(std::move(path));
  }
  plan.hidden = std::move(outermost);
  return {};
}

std::vector<Grant> pinned(const Plan& plan, const StepContext& context) {
  std::vector<Grant> out;
  const std::vector<Grant> grants = sorted_grants(context);
  for (const std::string& path : plan.hidden) {
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      const std::string folder = path.substr(0, slash);
      const auto around = [&folder](const auto& one) { return holds(one.path, folder); };
      // The longest one is last, and lies on top.
      const auto grant = std::ranges::find_if(grants.rbegin(), grants.rend(), around);
      if (grant == grants.rend() || grant->path == folder || (grant->flags & wire::kReadOnly) != 0) continue;
      const bool proposed = std::ranges::any_of(plan.workspaces, [&](const Workspace& workspace) {
        return around(workspace) && workspace.path.size() > grant->path.size();
      });
      const bool known = std::ranges::find(out, folder, &Grant::path) != out.end();
      if (!proposed && !known) out.push_back({folder, grant->flags});
    }
  }
  std::ranges::stable_sort(out, {}, [](const Grant& grant) { return grant.path.size(); });
  return out;
}

}  // namespace cloche
