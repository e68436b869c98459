// What seals a journal: a key that only the user knows, the place that the journal is for, and a number that nothing
// but this one application has.
//
// A guest that may write to the tree, or a repository that somebody cloned, can bring a staging directory of its own
// with a journal in it, and all that owner and mode tell is that it was made under the user's name. So a journal counts
// only if whoever wrote it knew the key, and wrote it for this very directory: a copy of one elsewhere is none. Nor is
// a copy of an earlier one of the same directory, which would take old content back: the user's own state knows the
// number of the application that is under way, and forgets it when that has ended.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "sys/hmac.h"

namespace cloche::tree {

// Asked when a journal is written or found; the room itself knows no place for secrets, nor one that no guest reaches.
// Trees are known by a word that is a file name.
struct KeySource {
  std::function<Result<sys::HmacKey>()> key = {};
  // The number of the application to the tree that is under way; empty: there is none.
  std::function<Result<std::string>(const std::string& tree)> under_way = {};
  // From now on this one, and no other. On the disk when it returns.
  std::function<Status(const std::string& tree, const std::string& number)> begin = {};
  // It has ended; another one's number stays.
  std::function<Status(const std::string& tree, const std::string& number)> end = {};

  explicit operator bool() const { return key && under_way && begin && end; }
};

struct Seal {
  sys::HmacKey key{};
  std::string place;   // which tree and which staging directory
  std::string tree;    // which tree
  std::string number;  // which application; empty: none is under way, and no journal fits

  sys::Digest of(std::string_view body) const;
};

// Of the application that is under way, and of a new one.
Result<Seal> seal_for(int root, int staging, const KeySource& source);
Result<Seal> begin_seal(int root, int staging, const KeySource& source);

}  // namespace cloche::tree
