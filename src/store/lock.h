// Who uses a run's directory. One file with two locks of the open file description, which the kernel drops when their
// holder ends, however it ends:
//
//   life   held by the process that makes the run, from its first moment to its last
//   use    shared by readers, alone for whoever changes (apply, discard)
//
// A collection takes both alone. Asking whether a run lives takes nothing, so that looking never disturbs.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace cloche::store {

enum class Use { kRead, kChange };

class Lock {
 public:
  enum class Part { kLife, kUse, kBoth };
  enum class Share { kAlone, kShared };
  enum class Taken { kYes, kBusy };

  // A file of the directory; kMake for those who may be the first. kNotFound: there is none.
  enum class Missing { kMake, kFail };
  static Result<Lock> open(int directory, Missing missing, const char* name = "lock");

  // Never waits. Who takes the use alone leaves its pid in the file, for others' messages.
  Result<Taken> take(Part part, Share share);
  // Whether somebody else holds any of it.
  Result<Taken> probe(Part part) const;
  // "process 123", or "another process".
  std::string holder() const;

 private:
  explicit Lock(Fd file) : file_(std::move(file)) {}
  Fd file_;
};

}  // namespace cloche::store
