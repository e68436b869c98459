// What a guest was let at of the host's. Who may read everything has a guest that may not: root's is the owner and
// group of the workspace, that of a user with capabilities is the user without them.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace cloche::files {

class GuestRights {
 public:
  // `lower` is the workspace on the host.
  static Result<GuestRights> of(int lower);

  // Of what is the host's: 4 to read or list, 1 to enter. The descriptor may be of a place only.
  bool may(int fd, const struct stat& st, mode_t right) const;

  // Whether a copy has what is in that file or directory. Who makes one has all rights to what belongs to the guest's
  // user and group, and no others than they have.
  bool was_copied(int folder, const std::string& name) const;

 private:
  enum class Judge : std::uint8_t { kKernel, kModes };
  GuestRights(uid_t user, gid_t group, Judge judge) : user_(user), group_(group), judge_(judge) {}

  uid_t user_;
  gid_t group_;
  Judge judge_;
};

}  // namespace cloche::files
