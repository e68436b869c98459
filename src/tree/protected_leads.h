// Where protected names of the host lead to. A link of the host at .git/hooks, or its core.hooksPath, makes programs
// obey files of any other name, and so these are protected as well. So are the programs that its settings name.
//
// Looked for are links and settings in the directories on the way to a change, those above the tree among them: a .git
// that concerns a file lies above it. A link elsewhere would be found by reading the whole tree alone.
//
// How much is read is bounded. Where that ends the looking, or something cannot be read, everything is protected: what
// was not looked at may lead anywhere.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tree/change.h"
#include "tree/path_walk.h"
#include "tree/protected_rules.h"

namespace cloche::tree {

class Leads {
 public:
  // Whether a path may be looked at. None: every one may.
  using MayLook = std::function<bool(const std::string& path)>;
  enum class Rules { kAll, kOfGit };

  // `place` is the absolute path of the tree, through no link. Looks at it and at what is above. What git obeys is
  // quick to find; links at names of other rules take all that lies in protected directories.
  Leads(int root, std::string place, Rules rules = Rules::kAll, MayLook may_look = {});

  // Looks at the directories of the host on the way to this path of the tree.
  void look_along(std::string_view path);

  // After everything has been looked at.
  std::optional<std::string> why(std::string_view path, FileKind kind) const;

 private:
  struct Target {
    Reach reach = Reach::kItself;
    std::string_view reason;
  };
  using Names = std::span<const std::string_view>;
  enum class Budget { kLeft, kUsedUp };

  std::optional<std::string> why_target(std::string_view path, FileKind kind) const;
  void look_in(const std::string& folder);
  void look_in_git(const std::string& folder);
  void look_in_repository(const std::string& repository, const std::string& worktree);
  void read_users_settings();
  void add_users(const std::string& worktree);
  void add_hooks(const std::string& folder);
  void read_settings(const std::string& folder, std::string_view file, const std::string& worktree, int depth);
  void add_command(std::string_view command, const std::string& repository, const std::string& worktree);
  std::string follow(const std::string& folder, Names names, Reach reach, std::string_view reason);
  void scan(const std::string& folder, std::string_view reason);
  std::string resolve(const std::string& folder, std::string_view path);
  void add(const std::string& path, Target target);
  std::string text_of(const std::string& path);
  std::optional<FileKind> kind_at(const std::string& path) const;
  std::optional<std::string> link_at(const std::string& path) const;
  bool is_open(const std::string& path) const { return !may_look_ || may_look_(path); }
  Budget take_file();
  Budget take_entry();
  void protect_everything(std::string_view reason);

  int root_;
  std::string place_;
  Rules rules_;
  MayLook may_look_;
  std::optional<std::string> everything_;                               // why all of the tree is protected
  std::map<std::string, Target> targets_;                               // by plain path in the tree
  std::set<std::string> above_targets_;                                 // the directories above them
  std::map<std::pair<std::size_t, std::string>, std::size_t> numbers_;  // directories that were looked at; 0: none
  std::size_t directories_ = 1;
  PathWalk<std::size_t> walk_ = PathWalk<std::size_t>(1);                      // with their numbers
  std::set<std::string> scanned_;                                              // protected directories
  std::set<std::tuple<std::string, std::string, std::string, int>> included_;  // settings, and from where
  std::vector<std::string> worktrees_;  // of the repository that is looked at: where its settings are seen from
  bool users_ = false;                  // the settings that are read are the user's or the system's
  std::set<std::string> users_hooks_;   // relative paths in those: each repository is held against them
  std::set<std::string> users_words_;   // the same, of commands
  std::size_t entries_left_;
  std::size_t files_left_;
};

}  // namespace cloche::tree
