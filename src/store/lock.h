// Who uses a run's directory. One file with two locks of the open file description, which the kernel drops when their
// holder ends, however it ends:
//
//   life   held by the process that makes the run, from its first moment to its last
//   use    shared by readers, alone for whoever changes (apply, discard)
//
// A collection takes both alone. Asking whether a run lives takes nothing, so that looking never disturbs.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/result.h"

namespace cloche::store {

inline constexpr const char* kLockFile = "lock";

enum class Use { kRead, kChange };

class Lock {
 public:
  enum class Part { kLife, kUse, kBoth };
  enum class Share { kAlone, kShared };
  enum class Taken { kYes, kBusy };

  // A file of the directory; kMake for those who may be the first. kNotFound: there is none.
  enum class Missing { kMake, kFail };
  static Result<Lock> open(int directory, Missing missing, const char* name = kLockFile);

  // Never waits. Who takes the use alone leaves its pid beside the file, for others' messages.
  Result<Taken> take(Part part, Share share);
  // Whether somebody else holds any of it.
  Result<Taken> probe(Part part) const;
  // "process 123", or "another process".
  std::string holder() const;
  // What the file says, once: a run begins with one file, because each costs more than all else that is done then.
  Status write(std::string_view text);

 private:
  Lock(Fd file, Fd directory, std::string name)
      : file_(std::move(file)), directory_(std::move(directory)), name_(std::move(name)) {}
  std::string holder_name() const { return name_ + ".pid"; }

  Fd file_;
  Fd directory_;
  std::string name_;
};

}  // namespace cloche::store
