// Who may be served: whoever is our user, in our namespaces, and no more confined than we are. Otherwise a process that
// somebody put behind walls would get cells with our view and our rights.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "keeper/peer.h"

namespace cloche::keeper {

struct Standing {
  std::vector<std::string> places;  // namespaces and root
  std::vector<std::string> rights;
  std::string umask;  // octal; anybody's own affair
};
Result<Standing> standing_of(const std::string& process);  // "self", or a pid
// Whether somebody with the same standing is surely no more confined than we are.
bool can_tell_confined(const Standing& ours);
// Tells where the other end is, if it is where we are.
Result<Standing> same_standing(const Peer& peer, const Standing& ours);

}  // namespace cloche::keeper
