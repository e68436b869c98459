#include "sys/left_copy.h"

#include <string_view>

#include "sys/file.h"
#include "wire/left_copy.h"

namespace cloche::sys {

static_assert(std::string_view(kCopyName) == wire::kCopyName);

std::optional<DirectoryId> directory_id(int folder) {
  DirectoryId out{};
  if (!wire::read_directory_id(folder, out)) return std::nullopt;
  return out;
}

Status remove_left_copy(const std::string& path, const std::optional<DirectoryId>& id,
                        const std::function<bool()>& go_on) {
  const int error = wire::remove_left_copy(path.c_str(), id ? &*id : nullptr, go_on);
  return error == 0 ? Status{} : Status(not_removed(error, path));
}

}  // namespace cloche::sys
