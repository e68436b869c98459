// The journal: what is to be done, written down before it is begun, and sealed. It is read back after a crash, by which
// time anyone may have written into it, or written another: without the seal of whoever reads it, it is none. What is
// accepted names places below the tree only, each once, in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tree/place.h"
#include "tree/seal.h"

namespace cloche::tree {

// As many as a proposal of a run may have, and as long (files/index.h).
inline constexpr std::size_t kMaxEntries = 1'000'000;
inline constexpr std::size_t kMaxJournalBytes = std::size_t{512} * 1024 * 1024;

struct Thing {
  FileKind kind = FileKind::kOther;
  mode_t mode = 0;
  Identity identity;
  Moment changed = {};      // where it says more than the identity, and until the thing is moved
  sys::Digest digest = {};  // of a file's content or a link's target

  bool operator==(const Thing&) const = default;
};

// One place: what was there when it was checked, and what has been staged for it. The names of both in the staging
// directory follow from the entry's number.
struct Entry {
  std::string path;
  std::optional<Thing> old_thing;
  std::optional<Thing> new_thing;
  // Inode of the directory that it is in, or comes to: after a crash another one may have its path. 0: not known.
  std::uint64_t folder = 0;

  // A directory that stays and changes its mode.
  bool only_mode() const {
    return old_thing && new_thing && old_thing->kind == FileKind::kDirectory && new_thing->kind == FileKind::kDirectory;
  }
  bool takes() const { return old_thing && !only_mode(); }
  bool puts() const { return new_thing && !only_mode(); }
  // One takes the place of the other in one step, and the path is never missing.
  bool swaps() const {
    return old_thing && new_thing && old_thing->kind != FileKind::kDirectory && new_thing->kind != FileKind::kDirectory;
  }

  bool operator==(const Entry&) const = default;
};

// Ordered by path, so that a directory comes before what is in it.
using Journal = std::vector<Entry>;

std::string encode_journal(const Journal& journal, const Seal& seal);
// kRefused: the seal does not fit, or another version wrote it.
Result<Journal> decode_journal(std::string_view bytes, const Seal& seal);

}  // namespace cloche::tree
