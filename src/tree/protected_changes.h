// Which changes of a proposal deserve a second look: by their own names, with the tree's own path in front; by what
// protected names of the host lead to (protected_leads.h); and by what they make of the directory that they are in.
//
// Git takes every directory for a repository that has HEAD, objects and refs, or HEAD and a commondir that says where
// the other two are, and then runs what its config and hooks say, whatever the directory is called. So a config is
// harmless or not by what lies beside it, now on the host or by the proposal.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tree/change.h"
#include "tree/protected_names.h"

namespace cloche::tree {

class Leads;

struct NamedChange {
  std::string_view path;
  FileKind kind = FileKind::kRegular;  // what it shall be; of what goes, what it was
  bool goes = false;
};

inline constexpr int kNoTree = -1;

// What the host has to say about names in a tree, gathered once for several questions.
class Protection {
 public:
  // The tree, which is looked at only in directories on the way to a change, or kNoTree.
  explicit Protection(int root);
  ~Protection();
  Protection(const Protection&) = delete;
  Protection& operator=(const Protection&) = delete;

  // The reasons, one for each change, in their order. Parts of a proposal may be applied in any order or never: what is
  // in the tree is taken to stay, and what is proposed to come.
  std::vector<std::optional<std::string>> why(std::span<const NamedChange> changes);

 private:
  int root_;
  Above above_;
  std::unique_ptr<Leads> leads_;  // nothing where nobody can say where the tree is
};

std::vector<std::optional<std::string>> why_protected(int root, std::span<const NamedChange> changes);

// Why git obeys an absolute path of the host that leads through no link, by what lies beside it (a repository has any
// name) or because its settings and links lead there. Of what may not be looked at nothing is known.
std::optional<std::string> why_git_obeys(const std::string& path, FileKind kind,
                                         const std::function<bool(const std::string& path)>& may_look);

// Whether the names in a directory make it a repository, for who lists it anyway.
class RepositoryParts {
 public:
  void add(std::string_view name, FileKind kind);
  bool are_all() const;

 private:
  std::uint8_t parts_ = 0;
};

}  // namespace cloche::tree
