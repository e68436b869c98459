#include "observe/explain_path.h"

#include <algorithm>
#include <array>
#include <utility>

#include "observe/advice.h"
#include "observe/obeyed.h"
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
    case Use::kMark:
      return {Right::kWrite, ll::kWriteFile, "write"};
    case Use::kRemove:
      return {Right::kWrite, ll::kRemoveFile, "write"};
    case Use::kExecute:
    case Use::kMap:
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

// Names are made and removed in a directory, whatever they stand for.
bool is_of_folder(const Sighting& s) { return s.use == Use::kMake || s.use == Use::kRemove || s.use == Use::kBind; }

// A file that is there is judged by where it really is, and a link of the guest's own by where it leads.
const std::string& place_of(const Sighting& s) { return s.real.empty() ? s.what : s.real; }

// A part of the host's own tree: what is not there is not there outside either.
bool is_the_hosts(const Plan& plan, const std::string& path) {
  return std::ranges::any_of(plan.grants, [&](const std::string& grant) { return covers(grant, path); }) ||
         std::ranges::any_of(plan.workspaces, [&](const Workspace& w) { return covers(w.path, path); });
}

// Of the system's own trees each cell has the host's. Its /etc is another one, but for these.
bool is_the_systems(const std::string& path) {
  constexpr auto kTrees = std::to_array<const char*>(
      {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/alternatives", "/etc/ssl/certs"});
  return std::ranges::any_of(kTrees, [&](const char* tree) { return covers(tree, path); });
}

// What the guest finds there is the host's, and not what the cell has of its own under that name: /tmp, /etc.
bool is_of_the_host(const Plan& plan, const std::string& path) {
  return plan.tier == Tier::kProcess || is_the_hosts(plan, path) || is_the_systems(path);
}

// Whether the guest sees a link of the host that lies in this directory, so that it leads the guest on.
bool sees_links_in(const Plan& plan, const std::string& folder, const std::string& asked) {
  if (plan.tier == Tier::kProcess || is_the_hosts(plan, folder)) return true;
  return is_the_systems(folder == "/" ? asked : folder);
}

// What is granted by itself is mounted by itself, and nobody inside removes or replaces a mount.
bool is_a_mount(const Plan& plan, const std::string& path) {
  if (plan.tier == Tier::kProcess) return false;
  return std::ranges::find(plan.grants, path) != plan.grants.end() ||
         std::ranges::find(plan.workspaces, path, &Workspace::path) != plan.workspaces.end();
}

bool is_held_back(const Sighting& s, const Plan& plan, const Need& need) {
  const std::string& named = place_of(s);
  if (!is_of_folder(s)) return !suffices(rights_to(plan, named), need);
  const bool stuck = s.presence == Presence::kThere && is_a_mount(plan, named);
  return stuck || !suffices(rights_to(plan, folder_of(named)), need);
}

bool makes(const Sighting& s) { return s.makes || s.use == Use::kMake || s.use == Use::kBind; }

// Where the guest writes and the policy executes nothing. Files that the host has there are told apart.
bool is_the_guests_program(const Sighting& s, const Plan& plan, bool on_the_host) {
  const std::string& named = place_of(s);
  const bool writable = (rights_to(plan, named) & ll::kMakeReg) != 0;
  if (need_of(s).right != Right::kExecute || !writable) return false;
  if (s.presence == Presence::kThere) return !on_the_host || !is_the_hosts(plan, named);
  return plan.tier == Tier::kProcess && on_the_host && !is_the_hosts(plan, named);
}

// Outside of the cell it would be there already: a guest that makes directory after directory is on its way to what
// lies below.
bool is_on_the_way(const Sighting& s, const HostPath& found) {
  return s.use == Use::kMake && s.anew && s.presence == Presence::kMissing && found.directory;
}

// What is asked for on the host: the thing itself, or the directory in which it is made or removed.
std::optional<HostPath> find_outside(const Sighting& s, const Need& need, const HostLook& look) {
  // What is mapped need not be a program.
  const Right right = s.use == Use::kMap ? Right::kRead : need.right;
  auto found = look(place_of(s), right);
  // Its answer is that it is there already, whatever the policy says.
  if (found && s.anew && s.presence == Presence::kUnknown) return std::nullopt;
  if (found && is_on_the_way(s, *found)) return found;
  if ((found && is_of_folder(s)) || (!found && makes(s))) return look(folder_of(place_of(s)), right);
  return found;
}

// Where files of the host are granted, there are no unix sockets.
Advice advise_bound() {
  return {{}, "sockets in files of the host are never in reach of a guest; bind it in /tmp or /work"};
}

// The guest of a root engine has a user of its own, and only the native backend maps the owners of files to it.
bool is_a_stranger(const Plan& plan) { return plan.own_host_uid && plan.backend != Backend::kNamespace; }

// What keeps such a guest out by its mode; empty where nothing does. In a view of its own the way to a grant is made
// anew.
std::string closed_to_strangers(const Plan& plan, const HostPath& found) {
  if (!is_a_stranger(plan)) return {};
  const auto counts = [&](const std::string& path) {
    return plan.tier == Tier::kProcess || path == found.real || is_the_hosts(plan, path);
  };
  const auto first = std::ranges::find_if(found.closed, counts);
  return first == found.closed.end() ? std::string() : *first;
}

// Whatever the modes of files say.
Advice advice_by_plan(const Sighting& s, const Plan& plan, const Need& need, const HostPath& found,
                      const Secrets& secrets) {
  // A link must not make less of a place of secrets than its name does.
  const Asked asked{plan, found.allowed, found.directory, &secrets};
  for (const std::string& name : {s.what, place_of(s)}) {
    if (is_secret_place(name, secrets)) return advise_path(name, need.right, asked);
    if (need.right != Right::kWrite || !found.allowed) continue;
    if (const std::string reason = why_obeyed(name, secrets); !reason.empty()) return advise_obeyed(reason);
  }
  if (is_on_the_way(s, found) && found.links.empty()) return advise_way(found.real, asked);
  if (is_of_folder(s) && s.presence == Presence::kThere && is_a_mount(plan, place_of(s))) {
    const std::string folder = folder_of(place_of(s));
    const bool changes = is_the_hosts(plan, folder) && (rights_to(plan, folder) & ll::kMakeReg) != 0;
    if (changes) return advise_uncover(place_of(s), plan);
    return advise_mounted(advise_path(found.real, need.right, asked));
  }
  Linked linked{found.real, {}, is_of_the_host(plan, found.real) && suffices(rights_to(plan, found.real), need)};
  for (const std::string& folder : found.links) {
    if (!sees_links_in(plan, folder, place_of(s))) linked.folders.push_back(folder);
  }
  if (linked.folders.empty()) return advise_path(found.real, need.right, asked);
  return advise_linked(linked, need.right, asked);
}

// Another cell alone would not show what no line grants, and nobody opens a file to all for one guest.
Advice advice_to_stranger(const Sighting& s, const Plan& plan, const Need& need, const HostPath& found,
                          const std::string& closed, const Secrets& secrets) {
  const Advice here = advice_by_plan(s, plan, need, found, secrets);
  if (here.allow.empty()) return here;
  Plan native = plan;
  native.tier = Tier::kNamespace;
  native.backend = Backend::kNamespace;
  return advise_stranger(closed, plan, advice_by_plan(s, native, need, found, secrets));
}

// What lies in the system's own trees is in no home directory, and most of what programs do without lies there: no
// home is looked for on its account.
const Secrets& secrets_for(const HostPath& found, const HostLook& look) {
  static const Secrets kOfNobody;
  constexpr auto kTrees = std::to_array<const char*>({"/etc", "/usr", "/proc", "/sys", "/dev"});
  const bool systems = std::ranges::any_of(kTrees, [&](const char* tree) { return covers(tree, found.real); });
  return systems && !found.directory ? kOfNobody : look.secrets();
}

Advice advice_for(const Sighting& s, const Plan& plan, const Need& need, const HostPath& found, const HostLook& look) {
  if (is_of_resolver(s.what) && !plan.has_network() && plan.net != NetMode::kHost) return advise_no_network(plan);
  if (s.what.starts_with("/proc/")) return advise_proc({plan, found.allowed, found.directory});
  if (s.use == Use::kBind) return advise_bound();
  const std::string closed = closed_to_strangers(plan, found);
  const Secrets& secrets = secrets_for(found, look);
  if (closed.empty() || !found.allowed) return advice_by_plan(s, plan, need, found, secrets);
  return advice_to_stranger(s, plan, need, found, closed, secrets);
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

std::string mount_of(const Plan& plan, const std::string& path) {
  std::string nearest;
  for (const std::string& grant : plan.grants) {
    if (covers(grant, path) && grant.size() > nearest.size()) nearest = grant;
  }
  return nearest;
}

bool is_granted(const Sighting& s, const Plan& plan) {
  if (!s.from.empty() || s.refused || s.owner || s.needs_copy || s.presence != Presence::kThere ||
      s.use == Use::kConnect || s.use == Use::kSignal)
    return false;
  // A script takes its interpreter, too; those of the system have one of the system's.
  if (s.use == Use::kExecute && is_the_hosts(plan, place_of(s))) return false;
  if (is_a_stranger(plan) && is_the_hosts(plan, place_of(s))) return false;  // its mode is asked for later
  return is_within_rights(s, plan);
}

bool is_within_rights(const Sighting& s, const Plan& plan) { return !is_held_back(s, plan, need_of(s)); }

bool is_of_the_cell(const Plan& plan, const std::string& path) {
  return (rights_to(plan, path) & ll::kMakeReg) != 0 && !is_of_the_host(plan, path);
}

bool is_missing_in_own_etc(const Plan& plan, const std::string& path) {
  constexpr auto kThere = std::to_array<std::string_view>(
      {"/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ld.so.cache", "/etc/ssl/certs"});
  if (!covers("/etc", path) || is_of_the_host(plan, path)) return false;
  // Directories on the way to what is there are there, too.
  const auto leads = [&](std::string_view there) { return covers(path, std::string(there)); };
  return std::ranges::none_of(kThere, leads) && std::ranges::none_of(plan.grants, leads);
}

namespace {

// Whoever may write to it, and be it the guest's own.
std::optional<Denial> explain_owner(const Sighting& s, const HostLook& look) {
  if (s.presence != Presence::kThere && !look(place_of(s), Right::kWrite)) return std::nullopt;
  return denial_of("write", s.what, s, {{}, std::string(kNoOwners)});
}

std::string common_folder(const std::string& one, const std::string& other) {
  std::string folder = one;
  while (!covers(folder, other)) folder = folder_of(folder);
  return folder;
}

// One grant in place of two would do, and one workspace in place of two; but not a grant in place of a workspace, nor
// either for a place of the cell's own.
Advice advice_to_join(const Sighting& s, const Plan& plan, const HostLook& look) {
  const std::string here = mount_of(plan, s.from);
  const std::string there = mount_of(plan, place_of(s));
  const auto proposed = [&](const std::string& path) {
    return std::ranges::find(plan.workspaces, path, &Workspace::path) != plan.workspaces.end();
  };
  if (here.empty() || there.empty() || proposed(here) != proposed(there)) return advise_apart({});
  const std::string folder = common_folder(here, there);
  const auto found = look(folder, Right::kWrite);
  if (!found || found->real != folder || !closed_to_strangers(plan, *found).empty()) return advise_apart({});
  Advice both = advise_path(folder, Right::kWrite, {plan, found->allowed, true, &look.secrets()});
  if (!both.allow.empty() && proposed(here)) both.allow = "workspace.path = [" + quoted(folder) + "]";
  return advise_apart(both);
}

// Granted, and kept out all the same.
std::optional<Denial> explain_mode(const Sighting& s, const Plan& plan, const Need& need, const HostLook& look) {
  if (!is_a_stranger(plan) || !is_the_hosts(plan, place_of(s))) return std::nullopt;
  const auto found = find_outside(s, need, look);
  const std::string closed = found ? closed_to_strangers(plan, *found) : std::string();
  if (closed.empty()) return std::nullopt;
  return denial_of(need.word, s.what, s, advise_stranger(closed, plan, {}));
}

// By the name that was asked for, all the way to what it leads to.
bool may_execute(const std::string& asked, const HostPath& found, const Plan& plan) {
  const auto sees = [&](const std::string& folder) { return sees_links_in(plan, folder, asked); };
  return is_of_the_host(plan, found.real) && std::ranges::all_of(found.links, sees) &&
         (rights_to(plan, found.real) & ll::kExecute) != 0;
}

}  // namespace

std::optional<Denial> explain_path(const Sighting& s, const Plan& plan, const HostLook& look) {
  const Need need = need_of(s);
  // Landlock judges contents.
  if ((s.use == Use::kMark || s.use == Use::kMap) && plan.tier == Tier::kProcess) return std::nullopt;
  if (s.owner) return explain_owner(s, look);
  if (s.presence == Presence::kThere && (s.anew || (s.use == Use::kExecute && s.directory))) return std::nullopt;
  // What is not there may be held back all the same: outside of the cell there may be something of that name. But what
  // is made in a directory that is there is the cell's own.
  const bool hidden = s.presence == Presence::kMissing && (need.right != Right::kWrite || !makes(s) || s.adrift);
  if (!hidden && !is_held_back(s, plan, need)) {
    if (s.needs_copy) return denial_of(need.word, s.what, s, advise_copy());
    if (!s.from.empty()) return denial_of(need.word, s.what, s, advice_to_join(s, plan, look));
    return explain_mode(s, plan, need, look);
  }
  const auto found = find_outside(s, need, look);
  if (is_the_guests_program(s, plan, found.has_value())) {
    return denial_of(need.word, s.what, s, advise_own_program(place_of(s)));
  }
  if (!found) return std::nullopt;                                 // nothing is there, outside either
  if (s.count == 0 && found->socket) return std::nullopt;          // named, and nobody reads one
  if (s.use == Use::kMap && !found->regular) return std::nullopt;  // a device: no line would help
  // A name whose links could not be followed in the cell, or that the guest made or removed itself.
  const bool ours =
      s.presence == Presence::kUnknown ? is_of_the_host(plan, found->real) : hidden && is_the_hosts(plan, found->real);
  if (ours && suffices(rights_to(plan, found->real), need)) return std::nullopt;
  return denial_of(need.word, s.what, s, advice_for(s, plan, need, *found, look));
}

std::optional<Denial> explain_interpreter(const Sighting& s, const Plan& plan, const HostLook& look) {
  if (s.use != Use::kExecute || !s.what.starts_with('/')) return std::nullopt;
  const auto script = look(place_of(s), Right::kExecute);
  if (!script || !script->interpreter.starts_with('/')) return std::nullopt;
  Sighting needed = s;
  needed.what = absolute("/", script->interpreter);
  needed.real.clear();
  // A link that the guest sees may lead to what it does not.
  const auto found = look(needed.what, Right::kExecute);
  needed.presence = !found || may_execute(needed.what, *found, plan) ? Presence::kUnknown : Presence::kMissing;
  return explain_path(needed, plan, look);
}

std::string lacking_interpreter(const std::string& script, const Plan& plan, const HostLook& look) {
  const auto there = look(script, Right::kExecute);
  if (!there || !there->interpreter.starts_with('/') || !there->allowed) return {};
  if (!may_execute(script, *there, plan)) return {};
  const auto found = look(there->interpreter, Right::kExecute);
  return found && may_execute(there->interpreter, *found, plan) ? std::string() : there->interpreter;
}

}  // namespace cloche::observe
