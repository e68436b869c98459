// What the tests of explanations share: a plan, a host in memory and attempts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "observe/explain.h"
#include "plan/landlock.h"

namespace cloche::observe {

using filter::Use;

// A cell that shows /usr, has a /work of its own and was granted two directories.
inline Plan sample() {
  Plan plan;
  plan.tier = Tier::kNamespace;
  plan.backend = Backend::kNamespace;
  plan.reach = {{"/", landlock::kReadDir},
                {"/usr", landlock::kReadExec},
                {"/work", landlock::kReadWrite},
                {"/home/me/data", landlock::kRead},
                {"/home/me/out", landlock::kReadWrite}};
  plan.grants = {"/home/me/data", "/home/me/out"};
  return plan;
}

// The same without a view of its own, and by bwrap.
inline Plan on_the_host() {
  Plan plan = sample();
  plan.tier = Tier::kProcess;
  plan.backend = Backend::kProcess;
  return plan;
}
inline Plan by_bwrap() {
  Plan plan = sample();
  plan.backend = Backend::kBwrap;
  return plan;
}

// The host: a path, where it really is, and what its user may do.
class Host {
 public:
  Host& has(const std::string& path, const std::string& real = {}, bool allowed = true, bool directory = false,
            bool socket = false, const std::string& interpreter = {}) {
    files_[path] = {real.empty() ? path : real, directory, socket, allowed, !directory && !socket, {}, {}, interpreter};
    if (!real.empty()) files_[path].links = {path.substr(0, path.rfind('/'))};
    return *this;
  }
  // By the mode of `what`, to whoever does not own it.
  Host& closes(const std::string& path, const std::string& what) {
    files_.at(path).closed.push_back(what);
    return *this;
  }
  HostLook look() const {
    return [this](const std::string& path, Right) -> std::optional<HostPath> {
      const auto found = files_.find(path);
      return found == files_.end() ? std::nullopt : std::optional(found->second);
    };
  }

 private:
  std::map<std::string, HostPath> files_;
};

inline Sighting path(Use use, const std::string& what, Presence presence = Presence::kMissing, bool changes = false) {
  Sighting s;
  s.use = use;
  s.what = what;
  s.real = presence == Presence::kThere ? what : "";
  s.presence = presence;
  s.changes = changes;
  s.program = "prog";
  s.count = 2;
  return s;
}

inline Sighting inet(Use use, const std::string& what) {
  Sighting s = path(use, what);
  s.family = Family::kInet;
  return s;
}

inline std::vector<Denial> explained(const Sighting& s, const Host& host, const Plan& plan = sample()) {
  return explain({s}, plan, host.look());
}

}  // namespace cloche::observe
