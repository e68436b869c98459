// Reading the host's own directory while somebody may be writing to it: nothing is followed, mounts are crossed only
// where the guest saw what lies behind them, too, and what cannot be read is said and not guessed.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "files/guest_rights.h"
#include "files/meter.h"
#include "files/proposal.h"
#include "files/view.h"
#include "files/whereabouts.h"

namespace cloche::files {

// One thing of the host's, as far as it is known.
struct HostThing {
  tree::FileState state;          // of a regular file without size and digest until read_host() was called
  mode_t whole_mode = 0;          // with the set-id and sticky bits
  bool changed = false;           // since the view was made
  bool has_capabilities = false;  // of a regular file, once it was read
  bool never_seen = false;        // a copy has nothing of it, so the guest neither deleted nor meant it
  bool withheld = false;          // a copy has no more of it than the name, without rights; kUnreadable, too
  Obstacle obstacle = Obstacle::kNone;
  std::optional<std::string> text;  // of a file that is text
};

class HostSide {
 public:
  HostSide(const View& view, Meter& meter);

  // O_PATH. Invalid where there is none, where a mount is that is not crossed, and where we may not go.
  Result<Fd> open_directory(const std::string& path) const;
  // Nothing where we may not read: what is not named is not deleted, and a directory that is not empty stays.
  static Result<std::vector<std::string>> names(int folder);

  // Whether the host may have put another directory where this one is. Certain for what the whereabouts tell of.
  bool was_exchanged(int folder, const std::string& path) const;
  // Whether something was there when the view was made, held against what is in `folder` now.
  bool had(int folder, const std::string& path) const;

  Result<std::optional<HostThing>> look(int folder, const std::string& name, const std::string& path) const;
  // Reads the content of a regular file for its digest, and keeps it where it is text.
  Status read(int folder, const std::string& name, const std::string& path, HostThing& thing) const;

 private:
  Status read_open(int fd, const std::string& path, HostThing& thing) const;
  bool was_withheld(int folder, const std::string& name, mode_t mode) const;

  int root_;
  ViewKind kind_;
  std::optional<GuestRights> rights_;  // of who made a copy
  tree::Mounts mounts_;
  timespec started_;
  const Whereabouts* whereabouts_;
  Meter* meter_;
};

}  // namespace cloche::files
