// Where a run that lives can be spoken to: STATE/live/ID.sock, in a directory that nobody else may enter. A name is
// there from the moment that somebody listens; what a killed run left is swept.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "store/place.h"

namespace cloche::store {

// kNotFound: no run was ever spoken to.
Result<Fd> open_live(const Place& place);
Result<Fd> make_live(const Place& place);

// A listening SOCK_SEQPACKET socket, non-blocking, by the name of the run.
Result<Fd> listen_live(int live, const std::string& id);
// A connection that does not block. kNotFound: no such name, or nobody behind it; the latter is swept.
Result<Fd> connect_live(int live, const std::string& id);
void remove_live(int live, const std::string& id);

// Runs that have a name there, sorted.
Result<std::vector<std::string>> live_names(int live);
// Removes the names that nobody listens behind, and says how many.
std::size_t sweep_live(int live);
void sweep_live(const Place& place);

}  // namespace cloche::store
