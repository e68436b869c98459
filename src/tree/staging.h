// The staging directory: new things (n0, n1, …), old things (o0, o1, …) and the journal, whose name tells how far the
// work has come. It is ours alone: owner and mode are checked, and a lock keeps other applications out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "tree/change.h"
#include "tree/journal.h"

namespace cloche::tree {

using Progress = std::function<void(std::string_view step)>;
// Told now and then how much of a file has been copied; an error ends it.
using Copied = std::function<Status(std::uint64_t bytes)>;

// Up to so many files or directories are made durable one by one; for more the whole file system is asked once.
inline constexpr std::size_t kSyncedEach = 64;

enum class Stage {
  kOpen,       // not decided
  kCommitted,  // to be carried out
  kUndoing,    // to be undone
  kDone,       // to be tidied up
};

// The file that a new one replaces; nothing is open where there is none.
struct Present {
  Fd place;    // O_PATH
  Fd content;  // where its bytes stay
};

class Staging {
 public:
  enum class Missing { kMake, kLeave };
  // Opens and locks it; nothing where there is none and none shall be made.
  static Result<std::optional<Staging>> open(int root, Missing missing, const KeySource& key, const Progress& progress);

  int folder() const { return folder_.get(); }

  static std::string new_name(std::size_t number) { return "n" + std::to_string(number); }
  static std::string old_name(std::size_t number) { return "o" + std::to_string(number); }
  Result<bool> holds(const std::string& name) const;

  // Makes the new thing of this number and says what it is. Under root it gets the owner, else it is ours, and the
  // group's where it can be. `present` is the file whose bytes are kept where the change brings none.
  Result<Thing> make_directory(std::size_t number, mode_t mode, const Owner& owner) const;
  Result<Thing> make_new(std::size_t number, const Change& change, const Owner& owner, const Present& present,
                         const Copied& copied) const;

  // What journals in this directory are sealed with: that of the application under way, and that of a new one.
  Result<Seal> seal() const { return seal_for(root_, folder(), key_); }
  Result<Seal> begin() const { return begin_seal(root_, folder(), key_); }
  // No journal with this seal counts any more. Should it not be forgotten now, the next application takes its place.
  void end(const Seal& seal) const { (void)key_.end(seal.tree, seal.number); }
  // Writes the journal; everything is on the disk before and after it gets its name.
  Status commit(const Journal& journal, const Seal& seal) const;
  Result<Stage> stage() const;
  Result<Journal> journal(Stage stage, const Seal& seal) const;
  Status advance(Stage from, Stage to) const;

  // Everything in it goes, the journal last: it is called where none is in force.
  Status clear(const Progress& progress) const;
  // And then the directory itself.
  Status discard(const Progress& progress) const;

 private:
  Staging(int root, Fd folder, KeySource key) : root_(root), folder_(std::move(folder)), key_(std::move(key)) {}

  int root_;
  Fd folder_;
  KeySource key_;
};

}  // namespace cloche::tree
