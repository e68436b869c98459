// Home directories, as a path that begins with ~ names them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cloche::tree {

// The path with its ~ or ~user replaced; as it is where it has none. Nothing where nobody can say whose home it is: by
// /etc/passwd alone, since a static program would load the name services' modules to ask others.
std::optional<std::string> with_home(std::string_view path);

}  // namespace cloche::tree
