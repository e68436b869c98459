// Which paths a proposal may name, and how a path that a guest wrote is shown to people.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace cloche::tree {

// Where an application keeps its journal and what it is about to put in place; no proposal may name it.
inline constexpr std::string_view kStagingName = ".cloche-apply";
// Ends the name of an old file that could not be put back, because somebody else has its place.
inline constexpr std::string_view kOldSuffix = ".cloche-old";
inline constexpr std::size_t kMaxComponent = 255;
inline constexpr std::size_t kMaxPath = 4096;

// In any spelling that some file system takes for it.
bool is_staging_name(std::string_view name);

// Relative, made of plain names, and short enough; the error names the path and the rule.
Status check_path(std::string_view path);

// Without bytes that would move a cursor, and not endless: for messages only.
std::string printable(std::string_view path);

}  // namespace cloche::tree
