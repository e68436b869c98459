// Where this host's users have their secrets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/secret_places.h"

namespace cloche {

// Home directories of all users, as they are written and by where they really are: what /etc/passwd says, and what lies
// where homes usually do. Nothing is mounted and nobody asked for it.
std::vector<std::string> homes_of_host();

// "~/.ssh" may be a link to "~/dotfiles/ssh", which nobody would know for what it is by its name: adds where the places
// of secrets in this home directory really are. One that leads to all of the caller's home is none.
void add_link_targets(Secrets& secrets, const std::string& home);

// Of the user whose home directory is spelled so, and of all others. Nothing is searched yet.
Secrets secrets_of_users(const std::string& home);

// For advice at the end of a run, which must not be waited for: the caller's by HOME, and a short search.
Secrets secrets_for_advice();

// Directories of programs that shells find by their names alone: of such a PATH, and bin of these homes. Real paths,
// too.
std::vector<std::string> places_of_programs(std::string_view path, const std::vector<std::string>& homes);

}  // namespace cloche
