// A look at the host for a name that a guest chose. A guest must not be able to act by it: nothing is mounted for it,
// no server is asked, and nobody waits. So names are followed step by step, and only through file systems of this
// machine's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/units.h"
#include "observe/explain.h"

namespace cloche {

class HostLook {
 public:
  // `mounts` is the text of /proc/self/mountinfo.
  explicit HostLook(std::string_view mounts);
  static HostLook of_this_host();

  // What the guest asked for in vain is often still known to be missing. Nobody is asked and nothing is mounted by
  // this.
  static bool is_known_to_be_missing(const std::string& path);
  // As the engine's own user, without opening what is there but a program. Nothing where it is not there or must not be
  // looked for.
  std::optional<observe::HostPath> look(const std::string& path, observe::Right right);

  // How a file begins; nothing of one whose reading could act on anything.
  std::string head(const std::string& path) const;
  // What the first line of a script names; empty for anything else.
  std::string interpreter(const std::string& path) const;

  // Names that were not looked for, since there were too many or it took too long.
  std::uint64_t left_out() const { return left_out_.size(); }

  // Whether the path is the root of something that is mounted and not of this machine, or not known to be.
  bool is_elsewhere(const std::string& path) const;
  // Whether anything on the way to the path, or the path itself, is.
  bool lies_elsewhere(const std::string& path) const;
  // Whether that, or anything below it, is.
  bool reaches_elsewhere(const std::string& path) const;

 private:
  std::optional<Fd> follow(std::string path, observe::HostPath& out) const;

  std::vector<std::string> elsewhere_;  // mount points
  bool known_ = false;
  std::size_t looks_ = 0;
  std::set<std::string> left_out_;
  Clock::time_point until_;
};

}  // namespace cloche
