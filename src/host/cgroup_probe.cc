#include "host/cgroup_probe.h"

#include <fmt/format.h>
#include <limits.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "base/octal.h"

namespace cloche::host {
namespace {

constexpr std::array kV2Controllers = {Controller::kPids, Controller::kMemory, Controller::kCpu};
constexpr std::string_view kBlank = " \n";

std::size_t index_of(Controller controller) { return static_cast<std::size_t>(controller); }

void add_reason(std::string& reasons, std::string_view reason) {
  if (!reasons.empty()) reasons += "; ";
  reasons += reason;
}

bool climbs(std::string_view path) { return path.ends_with("/..") || path.find("/../") != std::string_view::npos; }

// Where our cgroup appears below this mount; nullopt when the mount shows another part of the tree. A path or root
// with ".." lies outside our cgroup namespace and cannot be followed by name.
std::optional<std::string> own_directory(const Mount& mount, std::string_view path) {
  std::string point = unescape_octal(mount.point);
  const std::string root = unescape_octal(mount.root);
  if (climbs(root) || climbs(path) || path.size() >= PATH_MAX) return std::nullopt;
  if (point == "/") point.clear();
  if (root == "/") return path == "/" ? point : point + std::string(path);
  if (!path.starts_with(root)) return std::nullopt;
  const std::string_view rest = path.substr(root.size());
  if (!rest.empty() && !rest.starts_with('/')) return std::nullopt;
  return point + std::string(rest);
}

class Prober {
 public:
  Prober(const std::vector<Mount>& mounts, const CgroupQuery& query) : mounts_(mounts), query_(query) {}

  CgroupProbe run(const std::vector<CgroupLine>& lines);

 private:
  // One directory of the version 2 tree and which of kV2Controllers its children could have.
  struct Candidate {
    std::string directory;  // the parent of the leaves
    unsigned controllers = 0;
    bool self_move = false;
    bool at_root = false;
    bool kill_file = false;
  };
  // More controllers first, then no move of our own process; of equals the higher one, which outlives our session.
  static bool is_worse(const Candidate& higher, const Candidate& lower) {
    const int more = std::popcount(higher.controllers) - std::popcount(lower.controllers);
    return more != 0 ? more < 0 : higher.self_move && !lower.self_move;
  }
  static constexpr unsigned kAll = (1u << kV2Controllers.size()) - 1;

  Access access(const std::string& path) const { return query_.access(query_.root + path); }
  bool can_write(const std::string& path) const { return access(path) == Access::kWritable; }
  bool is_there(const std::string& path) const { return exists(query_.root + path); }
  std::optional<std::string> read(const std::string& path) const { return read_once(query_.root + path); }

  std::optional<Candidate> find_v2(std::string_view path);
  std::optional<Candidate> judge(const std::string& directory, const std::string& own, bool& writable_seen);
  std::optional<Candidate> judge_named(const Mount& mount, const std::string& own);
  unsigned reachable_controllers(const std::string& directory, bool& self_move, bool is_own);
  void find_v1(const std::vector<CgroupLine>& lines, CgroupFacts& facts);
  std::optional<std::string> v1_parent(Controller controller, const std::vector<CgroupLine>& lines);
  CgroupProbe as_probe(const Candidate& candidate);

  const std::vector<Mount>& mounts_;
  const CgroupQuery& query_;
  std::string v1_reasons_;
  std::string v2_reasons_;
  bool v1_mounted_ = false;
};

// The controllers that the children of this directory have or can be given.
unsigned Prober::reachable_controllers(const std::string& directory, bool& self_move, bool is_own) {
  const auto available = read(directory + "/cgroup.controllers");
  if (!available) return 0;
  const auto enabled = read(directory + "/cgroup.subtree_control");
  unsigned have = 0;
  unsigned possible = 0;
  for (std::size_t i = 0; i < kV2Controllers.size(); ++i) {
    const std::string_view name = to_string(kV2Controllers[i]);
    if (enabled && has_word(*enabled, name, kBlank)) have |= 1u << i;
    if (has_word(*available, name, kBlank)) possible |= 1u << i;
  }
  if (have == kAll || have == possible) return have;
  if (!can_write(directory + "/cgroup.subtree_control")) return have;
  // Only the root of the hierarchy has no cgroup.type; a container's own root has one and obeys the rule.
  if (!is_there(directory + "/cgroup.type")) return possible;
  const auto processes = read(directory + "/cgroup.procs");
  if (!processes) return have;
  if (processes->empty()) return possible;
  if (is_own && *processes == fmt::format("{}\n", query_.pid)) {
    self_move = true;
    return possible;
  }
  return have;
}

std::optional<Prober::Candidate> Prober::judge(const std::string& directory, const std::string& own,
                                               bool& writable_seen) {
  if (!can_write(directory.empty() ? "/" : directory) || !can_write(directory + "/cgroup.procs")) return std::nullopt;
  writable_seen = true;
  Candidate found;
  found.directory = directory + "/cloche";
  // Left behind by another user who may write here too: our mkdir below it would fail.
  if (access(found.directory) == Access::kRefused) return std::nullopt;
  found.controllers = reachable_controllers(directory, found.self_move, directory == own);
  if (found.controllers == 0) return std::nullopt;
  found.kill_file = is_there(directory + "/cgroup.kill");
  found.at_root = !found.kill_file && !is_there(directory + "/cgroup.type");
  return found;
}

// The directory that CLOCHE_CGROUP names holds the leaves itself, whatever its own name is: whoever named it gave it to
// us, and its parent perhaps not.
std::optional<Prober::Candidate> Prober::judge_named(const Mount& mount, const std::string& own) {
  std::string point = unescape_octal(mount.point);
  if (point == "/") point.clear();
  const std::string directory = point + "/" + query_.named;
  std::string ancestor = directory;
  while (ancestor.size() > point.size() && own != ancestor && !own.starts_with(ancestor + "/")) {
    ancestor.resize(ancestor.rfind('/'));
  }
  if (!can_write(directory) || !can_write(ancestor + "/cgroup.procs")) {
    add_reason(v2_reasons_,
               fmt::format("cgroup v2: CLOCHE_CGROUP names {}, but uid {} may not write it or {}/cgroup.procs",
                           directory, query_.uid, ancestor));
    return std::nullopt;
  }
  Candidate found;
  found.directory = directory + "/cloche";
  found.controllers = reachable_controllers(directory, found.self_move, directory == own);
  found.kill_file = is_there(directory + "/cgroup.kill");
  if (found.controllers != 0) return found;
  add_reason(v2_reasons_, fmt::format("cgroup v2: {} of CLOCHE_CGROUP has no controllers to give", directory));
  return std::nullopt;
}

std::optional<Prober::Candidate> Prober::find_v2(std::string_view path) {
  const Mount* mount = nullptr;
  std::optional<std::string> own;
  for (const Mount& candidate : mounts_) {
    if (candidate.type != "cgroup2") continue;
    mount = &candidate;
    if ((own = own_directory(candidate, path))) break;
  }
  if (mount == nullptr) return std::nullopt;
  if (!own) {
    add_reason(v2_reasons_, "cgroup v2: the mount does not show our own cgroup");
    return std::nullopt;
  }
  std::string point = unescape_octal(mount->point);
  if (point == "/") point.clear();
  // A tree without them beside version 1 controllers is the usual hybrid host: nothing to look for.
  const auto top = read(point + "/cgroup.controllers");
  const bool any = top && std::any_of(kV2Controllers.begin(), kV2Controllers.end(),
                                      [&](Controller c) { return has_word(*top, to_string(c), kBlank); });
  if (!any) {
    add_reason(v2_reasons_, "cgroup v2: the tree has none of pids, memory, cpu");
    return std::nullopt;
  }
  if (!query_.named.empty()) return judge_named(*mount, *own);

  std::optional<Candidate> best;
  bool writable_seen = false;
  for (std::string directory = *own;; directory.resize(directory.rfind('/'))) {
    const auto found = judge(directory, *own, writable_seen);
    if (found && (!best || !is_worse(*found, *best))) best = found;
    if (directory.size() <= point.size()) break;
  }
  if (best) return best;
  add_reason(v2_reasons_,
             writable_seen
                 ? fmt::format("cgroup v2: {} can get no controllers, because it holds other processes or was "
                               "given none",
                               *own)
                 : fmt::format("cgroup v2: no directory from {} upwards is writable by uid {}", *own, query_.uid));
  return std::nullopt;
}

std::optional<std::string> Prober::v1_parent(Controller controller, const std::vector<CgroupLine>& lines) {
  const std::string_view name = to_string(controller);
  const Mount* mount = nullptr;
  std::optional<std::string> own;
  for (const Mount& candidate : mounts_) {
    if (candidate.type != "cgroup" || !has_word(candidate.super_options, name, ",")) continue;
    if (mount == nullptr) mount = &candidate;
    for (const CgroupLine& line : lines) {
      if (!line.is_v2 && has_word(line.controllers, name, ",")) own = own_directory(candidate, line.path);
    }
    if (own) {
      mount = &candidate;
      break;
    }
  }
  if (mount == nullptr) {
    add_reason(v1_reasons_, fmt::format("cgroup v1: {} is not mounted", name));
    return std::nullopt;
  }
  v1_mounted_ = true;
  const std::string point = unescape_octal(mount->point);
  if (!query_.named.empty()) {
    const std::string named = point + "/" + query_.named;
    if (can_write(named)) return named + "/cloche";
    add_reason(v1_reasons_, fmt::format("cgroup v1: CLOCHE_CGROUP names {}, which is missing or not writable by uid {}",
                                        named, query_.uid));
    return std::nullopt;
  }
  if (own) {
    // The leaf becomes a sibling, "cloche-ID", so the directory itself must be ours to write.
    if (can_write(*own)) return *own + "/cloche";
  }
  std::string delegated = fmt::format("{}/cloche-{}", point, query_.uid);
  if (can_write(delegated)) return delegated;
  add_reason(v1_reasons_, fmt::format("cgroup v1: {} is not writable by uid {}", own ? *own : point, query_.uid));
  return std::nullopt;
}

void Prober::find_v1(const std::vector<CgroupLine>& lines, CgroupFacts& facts) {
  for (const Controller controller : kControllers) {
    facts.parent[index_of(controller)] = v1_parent(controller, lines);
    if (facts.at(controller)) facts.version = CgroupFacts::Version::kV1;
  }
}

CgroupProbe Prober::as_probe(const Candidate& candidate) {
  CgroupProbe probe;
  probe.facts.version = CgroupFacts::Version::kV2;
  probe.facts.v2_needs_self_move = candidate.self_move;
  probe.kill_file = candidate.kill_file;
  probe.at_root = candidate.at_root;
  for (std::size_t i = 0; i < kV2Controllers.size(); ++i) {
    if ((candidate.controllers & (1u << i)) != 0) {
      probe.facts.parent[index_of(kV2Controllers[i])] = candidate.directory;
    } else {
      add_reason(probe.facts.why_not,
                 fmt::format("cgroup v2: {} was not given to {}", to_string(kV2Controllers[i]), candidate.directory));
    }
  }
  return probe;
}

CgroupProbe Prober::run(const std::vector<CgroupLine>& lines) {
  CgroupProbe none;
  if (!query_.named.empty() && !is_good_cgroup_name(query_.named)) {
    none.facts.why_not = "CLOCHE_CGROUP is not a relative name such as team/x";
    return none;
  }
  std::optional<Candidate> v2;
  for (const CgroupLine& line : lines) {
    if (line.is_v2) v2 = find_v2(line.path);
    if (v2) break;
  }
  if (v2 && v2->controllers == kAll) return as_probe(*v2);
  find_v1(lines, none.facts);
  if (none.facts.version == CgroupFacts::Version::kV1) {
    none.facts.why_not = v1_reasons_;
    return none;
  }
  if (v2) return as_probe(*v2);
  none.facts.why_not = v2_reasons_;
  if (v1_mounted_) none.facts.why_not = v1_reasons_;
  if (none.facts.why_not.empty()) none.facts.why_not = "no cgroup file system is mounted";
  return none;
}

}  // namespace

bool is_good_cgroup_name(std::string_view name) {
  if (name.empty() || name.size() > 200 || name.ends_with('/')) return false;
  while (!name.empty()) {
    const std::string_view part = take_until(name, '/');
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
}

CgroupProbe probe_cgroups(std::string_view self_cgroup, const std::vector<Mount>& mounts, const CgroupQuery& query) {
  return Prober(mounts, query).run(parse_self_cgroup(self_cgroup));
}

}  // namespace cloche::host
