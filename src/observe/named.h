// What a guest that failed names, in its command and in what it said of its failure: a program that only looks at names
// (`stat`) is not watched by default, but nearly always says of which one it could not do its work.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "observe/explain.h"
#include "observe/sighting.h"

namespace cloche::observe {

inline constexpr std::size_t kMostNamed = 16;

// Absolute paths, as if they had been read; never seen to be, so their count is 0. The most telling one comes last, as
// with what was seen: what a program says at its end is about its end, and its command comes before that.
std::vector<Sighting> named_paths(const std::vector<std::string>& argv, std::string_view errors);

// What the cell has of its own begins without the host's files: a name in it that nobody put there, and that the guest
// was not seen to make, is missing.
void find_missing(std::vector<Sighting>& named, const std::vector<Sighting>& seen, const Plan& plan);

// Keys of limits that the errors sound like, as programs speak that were refused memory (ENOMEM), a process (EAGAIN) or
// a larger file (EFBIG), or that would raise a limit themselves (EPERM), which is mostly that of open files.
std::vector<std::string> named_limits(std::string_view errors);

// Whoever makes directory after directory (`mkdir -p`, `install -D`) is stopped at the first that the cell does not
// have, and no line grants /var: what is named below it can be granted. Empty where nothing of that kind was denied.
std::vector<Denial> explain_ways(const std::vector<Denial>& denials, const std::vector<Sighting>& named,
                                 const Plan& plan, const HostLook& look);

// What the end of the errors names comes first, the last one leading: a guest is denied many things that it does
// without, and says of which one it failed; so does who was refused a socket and speaks of the network. Relative names
// start in `cwd`. Of one name the line that allows most leads.
// False: none is named.
bool put_named_first(std::vector<Denial>& denials, std::string_view errors, const std::string& cwd);

}  // namespace cloche::observe
