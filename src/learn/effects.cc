#include "learn/effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "policy/key_value.h"

namespace cloche::learn {
namespace {

using filter::Use;
using observe::Presence;
using observe::Sighting;

constexpr std::size_t kMost = 8;  // paths that are named

// The places of a cell's own in which a command that names them means the host's.
bool is_lost_in(const std::string& path) { return path_covers("/tmp", path) || path_covers("/work", path); }

bool makes_it(const Sighting& s) {
  if (s.use == Use::kMake) return true;
  return s.use == Use::kOpen && s.changes && s.makes;
}

// Whoever goes by an open file names it by what it leads to, also where it is gone.
bool is_below_any(const std::set<std::string>& outer, std::string path) {
  for (; path != "/"; path = folder_of(path)) {
    if (outer.contains(path)) return true;
  }
  return false;
}

}  // namespace

Effects effects_of(const std::vector<Sighting>& seen, const Changed& changed, const Setting& setting,
                   const Host& host) {
  std::set<std::string> removed;
  for (const Sighting& s : seen) {
    if (s.use == Use::kRemove && !s.refused) removed.insert(s.what);
  }
  std::set<std::string> marked;
  std::set<std::string> lost;
  for (const Sighting& s : seen) {
    if (s.refused || !s.what.starts_with('/') || s.what == "/" || is_below_any(removed, s.what)) continue;
    if (makes_it(s) && is_lost_in(s.what) && !s.adrift && s.presence != Presence::kUnknown &&
        !setting.was_granted(s.what)) {
      lost.insert(s.what);
    }
    if (s.use != Use::kMark || s.presence != Presence::kThere || !setting.was_granted(s.what)) continue;
    const auto found = host.look(s.what, observe::Right::kWrite);
    if (!found || !found->allowed) continue;
    const bool changes =
        std::ranges::any_of(changed.paths, [&](const std::string& path) { return path_covers(found->real, path); });
    if (!changes) marked.insert(found->real);
  }
  Effects out;
  out.marked.assign(marked.begin(), marked.end());
  for (const std::string& path : lost) {
    if (!is_below_any(lost, folder_of(path))) out.lost.push_back(path);
  }
  return out;
}

std::string listed(const std::vector<std::string>& paths) {
  std::string out;
  for (std::size_t i = 0; i < paths.size() && i < kMost; ++i) out += (i == 0 ? "" : ", ") + harmless(paths[i]);
  return paths.size() > kMost ? fmt::format("{} and {} more", out, paths.size() - kMost) : out;
}

std::vector<Wanted> told_effects(const Effects& effects, Changes changes) {
  std::vector<Wanted> out;
  const auto tell = [&](const std::vector<std::string>& paths, const std::string& reason) {
    for (std::size_t i = 0; i < paths.size() && i < kMost; ++i) out.push_back({"write " + harmless(paths[i]), reason});
    if (paths.size() > kMost) out.push_back({fmt::format("write {} more", paths.size() - kMost), reason});
  };
  tell(effects.lost,
       "it went to a place of the cell's own, which ends with the run; have it written to a directory that --workspace "
       "DIR lets it change");
  if (changes == Changes::kDirect) return out;
  tell(effects.marked,
       "only its times or the like were set, which no proposal holds; --direct writes them (files.write)");
  return out;
}

}  // namespace cloche::learn
