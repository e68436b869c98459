// Where a user's keeper listens. An engine uses no keeper but its own user's, which stands where it does; whom a keeper
// serves, standing.h tells.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace cloche::keeper {

// The user's runtime directory, or a folder of the user's own in /tmp; the socket lies in it.
std::string default_directory();
inline constexpr const char* kSocketName = "keeper.sock";

// Opens (and, for a keeper, makes) the directory: it must be ours, and nobody else's business (0700).
Result<Fd> open_directory(const std::string& path, bool make);

// A listening socket in the directory; one that nobody listens on any more is replaced.
Result<Fd> listen_in(const Fd& directory);
// The same for the attendant of the keeper there: whatever had the name is replaced.
Result<Fd> listen_as_attendant(const Fd& directory);
// A connected one; kNotFound when no keeper runs there. Whoever listens is the same user.
Result<Fd> connect_in(const Fd& directory);
// Whoever listens must stand where we do, as far as that can be told: a process behind walls that can reach the
// directory would be told what is to run, and get to see what it prints.
Status check_listener(const Fd& socket);

// What a file is: another one in its place has another.
std::string identity_of(const std::string& path);

}  // namespace cloche::keeper
