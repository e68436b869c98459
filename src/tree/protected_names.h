// Names whose content is run or obeyed by programs that people start without thinking of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tree/change.h"

namespace cloche::tree {

// Why a change to something of this kind at this path deserves a second look, or nothing. A symlink is protected where
// any part of a protected path would lead through it. Names are compared as the most forgiving file system does.
std::optional<std::string> why_protected(std::string_view path, FileKind kind);

}  // namespace cloche::tree
