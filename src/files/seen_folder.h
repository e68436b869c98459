// A directory as the guest saw it at its end: what it wrote and, in an overlay, what it left as it was, which is the
// host's own and is only read. No link is followed, nor is a mount crossed that the guest did not see.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "files/guest_rights.h"

namespace cloche::files {

// A part of the cell that the guest could write, looked at when the guest is dead.
struct GuestPlace {
  std::string path;                       // absolute, in the cell
  Fd directory;                           // what it wrote
  int lower = -1;                         // of an overlay: the host's directory
  std::vector<std::string> covered = {};  // paths below where something else was mounted; nothing of it is found
};

struct SeenThing {
  struct stat st{};
  enum class Of : std::uint8_t { kGuest, kHost } of = Of::kGuest;
};

class SeenFolder {
 public:
  // The place outlives what is opened in it.
  static Result<SeenFolder> top(const GuestPlace& place);

  // In no order. Of the host's part nothing where the guest could not list it.
  Result<std::vector<std::string>> names() const;
  // Nothing where the guest saw nothing. An error is the host's (EIO, ENOMEM), and nothing that the guest saw.
  Result<std::optional<SeenThing>> look(const std::string& name) const;
  // One of the host's that the guest could not enter is empty.
  Result<SeenFolder> open_directory(const std::string& name) const;
  // Not valid: the host's, and not the guest's to read.
  Result<Fd> open_file(const std::string& name) const;

 private:
  SeenFolder(const GuestPlace& place, std::string path, std::optional<GuestRights> rights)
      : place_(&place), path_(std::move(path)), rights_(rights) {}
  bool is_covered(const std::string& name) const;
  std::string join(const std::string& name) const { return path_.empty() ? name : path_ + "/" + name; }

  const GuestPlace* place_;
  std::string path_;                   // below the place
  std::optional<GuestRights> rights_;  // of an overlay
  Fd upper_;
  Fd lower_;
};

}  // namespace cloche::files
