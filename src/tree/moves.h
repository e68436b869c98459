// The renames that carrying out and undoing are made of, and what both know things by.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "base/result.h"
#include "tree/journal.h"
#include "tree/place.h"

namespace cloche::tree {

// Never over something: whatever is there now was not there when it was checked.
Status move(int from, const std::string& name, int to, const std::string& new_name, const Entry& entry);
// False where the file system cannot do it.
Result<bool> exchange(int folder, const std::string& name, const Place& place, const Entry& entry);
std::unexpected<Error> cannot_move(int error, const Entry& entry);

// What happened to somebody else's work, or to ours.
std::unexpected<Error> changed(const Entry& entry);
std::unexpected<Error> spoiled(const Entry& entry);
bool not_there(const Error& error);

// Whether this is the thing, also after it was moved.
bool is(const Thing& thing, const struct stat& st);
// Whether an old thing that nobody has moved yet, or that was just taken, is as it was checked. What is changed by a
// rename is compared before one alone.
bool is_as_checked(const Thing& thing, const struct stat& st);
bool is_as_taken(const Thing& thing, const struct stat& st);
// Whether a new thing still is what was staged. Nobody can choose the time of its last change; where that differs, as
// it may on file systems that write late, its content has to tell.
// An old thing that waits in the staging directory: the one that was taken, with what it held.
bool is_as_kept(const Thing& thing, int folder, const std::string& name);
bool is_as_staged(const Thing& thing, int folder, const std::string& name);
bool is_directory(const std::optional<Thing>& thing);

}  // namespace cloche::tree
