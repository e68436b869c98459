// Where a copy for the host lies until it is whole: a directory beside the target, which only we can look into. Others
// may be able to write where the target is, and what is not ours there is neither used nor removed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/result.h"
#include "files/collect.h"

namespace cloche::files {

// How the names begin of directories in which something is copied out.
inline constexpr std::string_view kHiddenPrefix = ".cloche-get-";

// By errno.
std::unexpected<Error> not_written(const Destination& to, std::string message);

class Hidden {
 public:
  // Both outlive it.
  static Result<Hidden> make(const Destination& to, const Caretaker& caretaker);
  Hidden(Hidden&&) = default;
  Hidden(const Hidden&) = delete;
  ~Hidden();

  static constexpr const char* kThing = sys::kCopyName;  // the only name in it
  int folder() const { return folder_.get(); }

 private:
  Hidden(int parent, std::string name, std::string path, const Caretaker& caretaker)
      : parent_(parent), name_(std::move(name)), path_(std::move(path)), caretaker_(&caretaker) {}
  static Result<Hidden> made(Hidden hidden, const Destination& to);

  int parent_;
  std::string name_;
  std::string path_;
  const Caretaker* caretaker_;
  Fd folder_;
};

// What a caretaker was told of a directory that is left.
struct LeftCopy {
  std::string path;
  std::optional<FolderId> id;  // none: killed before it was told, so nothing can be in it
};

// Removes it if it is known to be ours: it has such a name, it is a directory of this user's and closed to others, on
// the way to it is no link, and it is the very one that was told of, or empty. Anything else stays and is no error;
// there is nothing to be done about it later, either. ECANCELED: `go_on` said no.
Status remove_left_copy(const LeftCopy& left, const std::function<bool()>& go_on);

}  // namespace cloche::files
