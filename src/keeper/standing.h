// Who may be served: whoever is our user, in our namespaces, and no more confined than we are. Otherwise a process that
// somebody put behind walls would get cells with our view and our rights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "keeper/peer.h"

namespace cloche::keeper {

struct Standing {
  std::vector<std::string> namespaces;
  std::string root;
  std::vector<std::string> rights;
  std::string umask;  // octal; anybody's own affair
};
Result<Standing> standing_of(const std::string& process);  // "self", or a pid
// Whether somebody with the same standing is surely no more confined than we are.
bool can_tell_confined(const Standing& ours);
// What of a standing is looked at. The rest makes no wall: nothing that a cell has is out of reach for want of the same
// (a cell has its own), or what differs would only be its clock or the name of its host.
enum class Look : std::uint8_t { kAll, kWalls, kRest };
// Tells where the other end is, if it is where we are; kRest: nothing.
Result<Standing> same_standing(const Peer& peer, const Standing& ours, Look look = Look::kAll);

}  // namespace cloche::keeper
