// Applying a proposal to a directory tree of the host: all of it or nothing, also across a crash.
//
// Who proposes is hostile, and so may be other processes that can write to the tree. Everything new is first made in
// `.cloche-apply`, a private directory inside of the tree, and made durable; then a journal is renamed to its final
// name, which is the moment of decision. What follows are renames only, each through a descriptor of the parent
// directory: old things into the staging directory, new ones out of it, and where one replaces the other both at once.
// Whether a rename has been done is seen from what lies in the staging directory, so the work can be taken up again at
// any point. What cannot be carried out is undone, in the same way.
//
// Whoever can write to the tree can write such a directory and such a journal, too: only one that was sealed with the
// user's own key for this very place is taken up (seal.h).
//
// New files belong to whoever applies, and to the group of what they replace or of the set-gid directory they are put
// in, for members of it. Under root they belong to whom the file they replace did, or else to the owner of the
// directory they are put in: nobody shall find files of root in a tree of their own.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tree/change.h"
#include "tree/seal.h"

namespace cloche::tree {

struct Options {
  // The proposal wins where the tree is not as it was; nothing that the proposal does not name is ever lost by it.
  bool force = false;
  // Also changes what why_protected() has a reason against.
  bool allow_protected = false;
  // Told the name of each step before it is taken: for progress, and for tests that end the process there.
  std::function<void(std::string_view step)> progress;
  // Asked until it is decided: yes ends it with ECANCELED, and the tree is as it was. From then on the signals that
  // would end the process are held back until it is done or undone.
  std::function<bool()> cancelled = {};
  // Of the user's own, the same for as long as an application may have to be recovered. Without it nothing can be
  // applied, and no journal counts.
  KeySource key = {};
};

enum class ConflictKind {
  kChanged,          // the tree is not in the state that the proposal was made against; force overrides this alone
  kNotEmpty,         // a directory that is to go holds things that the proposal does not delete
  kParentNotFolder,  // a parent is a file or a link, and the proposal does not make it a directory
  kProtected,        // see protected_changes.h
};

struct Conflict {
  std::string path;
  ConflictKind kind = ConflictKind::kChanged;
  std::optional<FileState> expected;
  std::optional<FileState> present;
  std::string reason;  // one sentence
};

enum class Recovery {
  kNothing,     // nothing was left
  kDiscarded,   // it had not been decided, or was done but for the tidying up
  kFinished,    // it had been decided, and is now carried out
  kRolledBack,  // it could not be carried out; the tree is as it was, but for what the reason names
};

struct Recovered {
  Recovery outcome = Recovery::kNothing;
  std::string reason;   // why it was rolled back, and what of it others kept from being undone
  bool partly = false;  // rolled back, but for what the reason names
  // Of the application that was interrupted, as far as its journal tells; nothing was decided where there was none.
  bool ended = false;  // it had been carried out or undone, and only the tidying up was left
  std::size_t changes = 0;
  std::size_t done = 0;            // in place when it was interrupted
  std::vector<std::string> paths;  // the first of them
};
// For people, in one sentence: how far it had come, and what the tree is now. Empty where nothing was left.
std::string to_text(const Recovered& recovered);

struct Applied {
  bool applied = false;             // false: there are conflicts, and nothing was changed
  std::vector<Conflict> conflicts;  // with force also those that were overridden
  std::size_t added = 0;
  std::size_t modified = 0;
  std::size_t deleted = 0;
  Recovered recovered;               // what an earlier, interrupted application had left
  std::vector<std::string> parents;  // directories that the proposal needed and did not name; made with 0755
};

// `root` is a descriptor of the tree's directory. What an interrupted application left is recovered first. An error
// says whether the tree is as it was; a proposal that breaks a rule of its own is an error, too. Written tree::apply,
// as std::apply is found by the arguments otherwise.
Result<Applied> apply(int root, std::span<const Change> changes, const Options& options);

// Ends what an interrupted application left: throws it away if it had not been decided, else carries it out, or undoes
// it where that cannot be. A journal that is not sealed with the key is kRefused, and everything stays as it is.
Result<Recovered> recover(int root, const Options& options);

}  // namespace cloche::tree
