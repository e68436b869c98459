// What seals a journal: a key that only the user knows, and the place that the journal is for.
//
// A guest that may write to the tree, or a repository that somebody cloned, can bring a staging directory of its own
// with a journal in it, and all that owner and mode tell is that it was made under the user's name. So a journal counts
// only if whoever wrote it knew the key, and wrote it for this very directory: a copy of one elsewhere is none.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "sys/hmac.h"

namespace cloche::tree {

// Asked when a journal is written or found; the room itself knows no place for secrets.
using KeySource = std::function<Result<sys::HmacKey>()>;

struct Seal {
  sys::HmacKey key{};
  std::string place;  // which tree and which staging directory

  sys::Digest of(std::string_view body) const;
};

Result<Seal> seal_for(int root, int staging, const KeySource& key);

}  // namespace cloche::tree
