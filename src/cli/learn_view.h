// The host's files for `cloche learn`: what a run that is learnt from is shown, and what its steps led to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "learn/collect.h"
#include "learn/item.h"
#include "policy/ceiling.h"

namespace cloche::cli {

learn::Host learn_host();
bool is_directory(const std::string& path);

// The directory above, and not this one, in which a git repository begins; empty: there is none.
std::string repository_above(const std::string& directory);

// What the observed run is shown beyond its policy: the caller's directory, as a private copy; what lies in the home
// directory and in the places of optional software, to be read and executed; never a place of secrets, nor a directory
// with one somewhere in it.
std::vector<learn::Item> wide_view(const std::string& cwd, const Secrets& secrets);

// The least of a directory that makes it be there: its smallest file, or else one further down. Never a secret.
std::optional<learn::Item> foothold_in(const std::string& directory, const Secrets& secrets);

// Variables that may be tried: neither dangerous nor secret-like, nor about the caller's own session.
std::vector<learn::Item> passable(const std::map<std::string, std::string>& env);
// Names of those that are not tried because they are secret-like, and that these grants do not give either.
std::vector<std::string> withheld(const std::map<std::string, std::string>& env, const EnvGrants& grants);

// Those of the items that every ceiling lets the policy have.
std::vector<learn::Item> below(const std::vector<Ceiling>& ceilings, const Policy& base,
                               const std::vector<learn::Item>& items);

}  // namespace cloche::cli
