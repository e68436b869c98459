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
// What of a standing is looked at: all of it; what keeps a process from something; or the clock, which is all that a
// run would have otherwise of the rest, since a cell has its own namespaces of the other kinds.
enum class Look : std::uint8_t { kAll, kWalls, kClock };
// Tells where the other end is, if it is where we are; kClock: nothing.
Result<Standing> same_standing(const Peer& peer, const Standing& ours, Look look = Look::kAll);

}  // namespace cloche::keeper
