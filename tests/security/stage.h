// Stage: a world-readable directory with copies of the programs under test, since an ordinary user may not be able to
// read the build tree, and the bait's directory. Made per test program, removed at its end, also after a failure.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/fd.h"
#include "cases.h"
#include "running.h"

namespace cloche::security {

inline constexpr unsigned kUserLaneUid = 61234;

// Cgroup directories that belong to the ordinary user, as an operator would delegate them. Empty unless we are root.
class DelegatedCgroups {
 public:
  explicit DelegatedCgroups(unsigned uid);
  ~DelegatedCgroups();
  DelegatedCgroups(const DelegatedCgroups&) = delete;
  DelegatedCgroups& operator=(const DelegatedCgroups&) = delete;
  bool complete() const { return made_.size() == 5; }
  static std::string name();  // below each controller's mount

 private:
  std::vector<std::filesystem::path> made_;
};

class Stage {
 public:
  explicit Stage(Lane lane);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  const std::string& problem() const { return problem_; }  // empty: ready
  std::string path(const std::string& name) const { return (root_ / name).string(); }
  std::string victim(const std::string& name) const { return path("victims/" + name); }
  std::string bait_dir() const { return path("bait-dir"); }
  std::string tree() const { return path("bait-dir/write"); }
  // What is different since state_of(tree()) was taken; empty: nothing.
  std::string change_of_tree(const std::string& before) const;
  bool has(const std::string& program) const { return std::filesystem::exists(root_ / "bin" / program); }
  bool delegated() const { return cgroups_.complete(); }
  std::map<std::string, std::string> environment() const;

  // bait … -- command; the command runs as the lane's user.
  std::vector<std::string> among_bait(const std::vector<std::string>& bait,
                                      const std::vector<std::string>& command) const;
  // The engine, whole or without something: bin/cloche or bin/weaken.
  std::string engine(const Removal& without) const { return path(without.empty() ? "bin/cloche" : "bin/weaken"); }
  // cloche run … -- victim args
  std::vector<std::string> cloche_run(Cellar cellar, const std::vector<std::string>& options, const std::string& victim,
                                      const std::vector<std::string>& args, const Removal& without = {}) const;

 private:
  std::string expand(std::string text) const;
  void append(std::vector<std::string>& to, const std::vector<std::string>& from) const;
  void fill();
  void fill_tree();

  Lane lane_;
  std::filesystem::path root_;
  std::string problem_;
  Fd socket_;  // listens inside the tree
  DelegatedCgroups cgroups_;
};

}  // namespace cloche::security
