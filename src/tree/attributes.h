// What the owner of a file noted beside its content.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tree/place.h"

namespace cloche::tree {

// The access list that a directory (which may be O_PATH) gives to what is made in it; empty where it has none.
std::string list_for_new(int directory);
// Gives that list to `name` of `folder`, as the kernel would have where it goes. Before the mode, which is its mask.
Status hand_down(const std::string& list, int folder, const std::string& name, FileKind kind, const std::string& path);

// Gives `to` the access list and the attributes of users that `from` (which may be O_PATH) has: whoever replaces a file
// must not change who may use it. Attributes with a meaning for the kernel were for the old content, and stay behind.
Status keep_attributes(int from, int to, const std::string& path);

// Gives `to` attributes of users; other names are an error.
Status set_attributes(int to, const std::vector<std::pair<std::string, std::string>>& attributes,
                      const std::string& path);

// Capabilities of a program, which were for the old content: only where somebody wants that.
Status keep_capabilities(int from, int to, const std::string& path);

}  // namespace cloche::tree
