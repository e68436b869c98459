// Folding: many files of one directory become the directory, where that does not widen much.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "learn/item.h"
#include "policy/secret_places.h"

namespace cloche::learn {

inline constexpr std::size_t kFewestToFold = 4;

// `entries` counts what a directory has; nothing: it cannot be told, so it stays as it is. Never becomes the home
// directory, one above it, one of secrets or with one in it, or one right below the root. What lies in a directory that
// is an item for another reason stays beside it: it may be all that is needed.
using CountEntries = std::function<std::optional<std::size_t>(const std::string& directory)>;
std::vector<Item> fold(std::vector<Item> items, const CountEntries& entries, const Secrets& secrets);

// The same of what was only looked at. Never becomes a directory above `cwd`: so little is no reason to show what lies
// beside the place where the command starts.
std::vector<Item> fold_looks(std::vector<Item> looks, const CountEntries& entries, const Secrets& secrets,
                             const std::string& cwd);

}  // namespace cloche::learn
