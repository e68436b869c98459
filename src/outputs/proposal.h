// What handing back a set of outputs would do to a target, as a value: one verdict for each path, and who owns what
// afterwards. Nothing is written here.
//
// A path has one owner. What its owner wrote and nobody touched since may be replaced; everything else is a conflict:
// a file of another producer's, one that a person edited or removed, one that no manifest knows of.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "outputs/manifest.h"
#include "outputs/output.h"
#include "tree/change.h"
#include "tree/seal.h"

namespace cloche::outputs {

enum class OnConflict : std::uint8_t {
  kStop,   // nothing is applied
  kSkip,   // the rest is
  kForce,  // the outputs win; what is there is lost
};

// What a producer does not hand back any more.
enum class OnStale : std::uint8_t {
  kKeep,
  kPrune,  // deleted, if nobody touched it since it was written
};

struct Terms {
  std::string producer;
  OnConflict on_conflict = OnConflict::kStop;
  OnStale on_stale = OnStale::kKeep;
  Protected names = Protected::kRefuse;
  mode_t umask = 022;
  std::string now;           // as Owned::written
  tree::KeySource key = {};  // see tree::Options
};

enum class Verdict : std::uint8_t {
  kAdd,
  kUpdate,
  kTakeOver,   // a conflict that force overrides
  kUnchanged,  // it is there already
  kConflict,   // left alone
  kPrune,
  kForget,  // not handed back, and gone already
  kStale,   // not handed back, and kept
};

std::string_view to_string(Verdict verdict);

struct Item {
  std::string path;
  Verdict verdict = Verdict::kConflict;
  std::string reason;                 // one clause; empty where the verdict says it all
  std::optional<std::size_t> output;  // which of the outputs; nothing: it was not handed back
  std::optional<tree::FileState> before;
  std::optional<tree::FileState> after;

  bool writes() const { return before || after; }
};

struct Proposal {
  std::vector<Item> items;  // outputs in their order, then what was not handed back
  ManifestFile current;
  Manifest next;
  std::string recovered;  // what an interrupted application had left and what became of it; empty: nothing

  std::size_t count(Verdict verdict) const;
};

// Ends what an interrupted application left in the target. One sentence for people about what was done; empty: there
// was nothing.
Result<std::string> recover_target(int root, const tree::KeySource& key);

// `root` is the target's directory. It is recovered first, so that nothing half-done is looked at.
Result<Proposal> propose(int root, std::span<const Output> outputs, const Terms& terms);

// Whether applying would do anything: conflicts stop everything unless the terms say otherwise.
bool may_proceed(const Proposal& proposal, const Terms& terms);

}  // namespace cloche::outputs
