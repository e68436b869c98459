#include "observe/explain_path.h"

#include <algorithm>
#include <utility>

#include "observe/advice.h"
#include "plan/landlock.h"

namespace cloche::observe {
namespace {

namespace ll = landlock;
using filter::Use;

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

// What of a path is needed, and how a person would say it.
struct Need {
  Right right{};
  std::uint64_t rights = 0;
  const char* word = "";
};

Need need_of(const Sighting& s) {
  switch (s.use) {
    case Use::kOpen:
      if (s.changes) return {Right::kWrite, ll::kWriteFile, "write"};
      return {Right::kRead, s.directory ? ll::kReadDir : ll::kReadFile, "read"};
    case Use::kMake:
    case Use::kBind:
      return {Right::kWrite, ll::kMakeReg, "write"};
    case Use::kChange:
      return {Right::kWrite, ll::kWriteFile, "write"};
    case Use::kRemove:
      return {Right::kWrite, ll::kRemoveFile, "write"};
    case Use::kExecute:
      return {Right::kExecute, ll::kExecute, "exec"};
    default:
      return {Right::kRead, 0, "read"};  // to look at it takes no right but that it is there
  }
}

bool suffices(std::uint64_t rights, const Need& need) { return (rights & need.rights) == need.rights; }

bool covers(const std::string& folder, const std::string& path) {
  return path == folder || folder == "/" ||
         (path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/');
}

// A part of the host's own tree: what is not there is not there outside either.
bool is_the_hosts(const Plan& plan, const std::string& path) {
  return std::ranges::any_of(plan.grants, [&](const std::string& grant) { return covers(grant, path); }) ||
         std::ranges::any_of(plan.workspaces, [&](const Workspace& w) { return covers(w.path, path); });
}

// Whether the guest sees the names on the way to it, so that a link there leads it on.
bool sees_the_way(const Plan& plan, const std::string& path) {
  return std::ranges::any_of(plan.reach, [&](const Reach& r) { return r.path != "/" && covers(r.path, path); });
}

}  // namespace

Denial denial_of(std::string what, std::string detail, const Sighting& s, const Advice& advice) {
  return {std::move(what), std::move(detail), s.count, s.program, advice.allow, advice.never};
}

std::uint64_t rights_to(const Plan& plan, const std::string& path) {
  std::uint64_t rights = 0;
  std::size_t longest = 0;
  for (const Reach& reach : plan.reach) {
    if (!covers(reach.path, path)) continue;
    // Landlock adds up what every directory on the way gives; but of mounts the one that is nearest decides.
    const bool nearer = plan.tier != Tier::kProcess && reach.path.size() > longest;
    rights = nearer ? reach.rights : rights | reach.rights;
    longest = std::max(longest, reach.path.size());
  }
  return rights;
}

bool is_granted(const Sighting& s, const Plan& plan) {
  if (s.refused || s.presence != Presence::kThere || s.use == Use::kConnect || s.use == Use::kSignal) return false;
  const bool of_folder = s.use == Use::kMake || s.use == Use::kRemove || s.use == Use::kBind;
  const std::string& named = s.real.empty() ? s.what : s.real;
  return suffices(rights_to(plan, of_folder ? folder_of(named) : named), need_of(s));
}

std::optional<Denial> explain_path(const Sighting& s, const Plan& plan, const HostLook& look) {
  const Need need = need_of(s);
  // Names are made and removed in a directory, whatever they stand for.
  const bool of_folder = s.use == Use::kMake || s.use == Use::kRemove || s.use == Use::kBind;
  // A file that is there is judged by where it really is.
  const std::string& named = s.presence == Presence::kThere && !s.real.empty() ? s.real : s.what;
  const bool is_new = s.presence != Presence::kThere && need.right == Right::kWrite;
  const bool held_back = !suffices(rights_to(plan, of_folder ? folder_of(named) : named), need);
  // What is not there may be held back all the same: outside of the cell there may be something of that name.
  const bool hidden = s.presence == Presence::kMissing && need.right != Right::kWrite;
  if (!held_back && !hidden) return std::nullopt;
  auto found = look(s.what, need.right);
  if (found && of_folder) found = look(folder_of(found->real), need.right);
  if (!found && is_new) found = look(folder_of(s.what), need.right);
  if (!found) return std::nullopt;  // nothing is there, outside either
  // A name whose links could not be followed in the cell, or that the guest made or removed itself.
  const bool ours = s.presence == Presence::kUnknown || (hidden && is_the_hosts(plan, found->real));
  if (ours && suffices(rights_to(plan, found->real), need)) return std::nullopt;
  // The host's /proc has another "self".
  if (s.what.starts_with("/proc/"))
    return denial_of(need.word, s.what, s, advise_path(s.what, need.right, found->allowed));
  const std::string end =
      of_folder || (is_new && found->directory && found->real != s.what) ? folder_of(s.what) : s.what;
  if (found->real != end && !sees_the_way(plan, s.what)) {
    return denial_of(need.word, s.what, s, advise_linked(found->real, need.right, found->allowed));
  }
  return denial_of(need.word, s.what, s, advise_path(found->real, need.right, found->allowed));
}

}  // namespace cloche::observe
