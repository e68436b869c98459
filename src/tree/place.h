// Places in the tree, reached by descriptors. A path is resolved by the kernel in one call that leaves the tree by no
// way (no symlink, no "..", no /proc link), and what is done then is done to the directory that was found: whoever
// renames things meanwhile can make a call fail, but not make it happen elsewhere.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "tree/change.h"

namespace cloche::tree {

enum class Mounts {
  kCross,   // to look
  kRefuse,  // to change: nothing can be renamed over the border of a mount
};

// Opens what `path` names, itself if it is a symlink (with O_PATH). The error keeps the kernel's errno.
Result<Fd> open_beneath(int root, const std::string& path, int flags, Mounts mounts);

// The directory that holds `path`, and its name there.
struct Place {
  Fd folder;  // O_PATH
  std::string name;
};
Result<Place> find_place(int root, const std::string& path, Mounts mounts);

struct Moment {
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;

  bool operator==(const Moment&) const = default;
};

// What tells whether something is still the thing that was looked at before, also after it was renamed.
struct Identity {
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t seconds = 0;  // of the last change of its content
  std::int64_t nanoseconds = 0;

  bool operator==(const Identity&) const = default;
};

FileKind kind_of(const struct stat& st);
// Of directories and special files the inode alone: their sizes and times change with what is in them. A link that
// replaces another often gets its inode, but not its time.
Identity identity_of(const struct stat& st);
// Of the last change of anything about it. Nobody can choose it, and a rename is one.
inline Moment changed_at(const struct stat& st) { return {st.st_ctim.tv_sec, st.st_ctim.tv_nsec}; }

// Whose a thing is.
struct Owner {
  uid_t user = 0;
  gid_t group = 0;
  bool keeps_group = false;  // for whoever applies and may: what is replaced, and what comes below a set-gid directory
  bool passes_on = false;    // such a directory: directories in it are of that kind, too
  std::string handed_down = {};  // the access list that a directory gives to what is new in it, if it has one

  bool operator==(const Owner&) const = default;
};

enum class Entries { kNone, kSome };
// Whether the directory `name` of `folder` has entries.
Result<Entries> entries_of(int folder, const std::string& name);

// The mode of the directory behind an O_PATH descriptor.
Status set_mode(int directory, mode_t mode, const std::string& path);

}  // namespace cloche::tree
