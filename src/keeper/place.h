// Where a user's keeper listens, and who may speak to whom. A keeper serves its own user in its own namespaces; an
// engine uses no keeper but its own user's.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

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
// A connected one; kNotFound when no keeper runs there.
Result<Fd> connect_in(const Fd& directory);

// What a file is: another one in its place has another.
std::string identity_of(const std::string& path);

// Whoever is at the other end must be the same user.
Status check_same_user(const Fd& socket);
// And, for a keeper: in the same namespaces, and no more confined than we are. Otherwise a process that somebody put
// behind walls would get cells with our view and our rights.
struct Standing {
  std::vector<std::string> places;  // namespaces and root
  std::vector<std::string> rights;
  std::string umask;  // octal; anybody's own affair
};
Result<Standing> standing_of(const std::string& process);  // "self", or a pid
// Whether somebody with the same standing is surely no more confined than we are.
bool can_tell_confined(const Standing& ours);
// Tells where the other end is, if it is where we are.
Result<Standing> same_standing(const Fd& socket, const Standing& ours);

}  // namespace cloche::keeper
