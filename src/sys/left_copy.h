// wire/directory_id.h and wire/left_copy.h for the engine.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "wire/directory_id.h"

namespace cloche::sys {

using wire::DirectoryId;

inline constexpr const char* kCopyName = "it";  // the only name that the engine makes in such a directory

// Nothing where it cannot be asked.
std::optional<DirectoryId> directory_id(int folder);

// Removes the directory of a copy that was cut short, if it is known to be that one. What is not ours to remove is no
// error. ECANCELED: `go_on` said no.
Status remove_left_copy(const std::string& path, const std::optional<DirectoryId>& id,
                        const std::function<bool()>& go_on);

}  // namespace cloche::sys
