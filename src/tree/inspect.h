// What is at a path of the tree now.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "tree/change.h"
#include "tree/place.h"

namespace cloche::tree {

// Nothing where there is nothing, also where a parent is missing or is a file; an error where a parent is a symlink.
// Neither fifos nor devices are ever opened.
Result<std::optional<FileState>> inspect(int root, const std::string& path);

// The same for this room: with what is needed to know the thing again.
struct Seen {
  FileState state;
  Identity identity;
  Owner owner;
  mode_t whole_mode = 0;  // with the set-id and sticky bits
  Moment changed;         // of a link or special file with one name; of others it changes with what is done to those
};
Result<std::optional<Seen>> look(int root, const std::string& path, Mounts mounts);

// Opens for reading the regular file behind an O_PATH descriptor: this one, whatever has its name by now.
Result<Fd> reopen_regular(int place, const std::string& path);

}  // namespace cloche::tree
