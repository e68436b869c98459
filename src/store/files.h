// Small files of a directory, by descriptor.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace cloche::store {

// A file of this name in the directory, if it is a regular one and not longer than the limit. Without a directory there
// is none.
Result<std::string> read_in(int directory, const char* name, std::size_t limit);
// To an open file, whole.
Status write_whole(int fd, std::string_view text, const char* name);

// Whether a file must be on the disk before its writer goes on.
enum class Durable { kNo, kYes };
// A file that is not there yet.
Status write_new(int directory, const char* name, std::string_view text, Durable durable);
// In one step: whoever reads sees the old file or the new one.
Status replace_file(int directory, const char* name, std::string_view text, Durable durable);

}  // namespace cloche::store
