#include "tree/folder_id.h"

#include "sys/left_copy.h"

namespace cloche::tree {

std::optional<FolderId> folder_id_now(int folder) {
  const auto id = sys::directory_id(folder);
  if (!id) return std::nullopt;
  return FolderId{id->inode, id->born_seconds, id->born_nanoseconds};
}

}  // namespace cloche::tree
