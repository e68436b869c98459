#include "tree/change.h"

#include <utility>

namespace cloche::tree {
namespace {

constexpr mode_t kRights = 0777;

}  // namespace

std::string_view to_string(FileKind kind) {
  switch (kind) {
    case FileKind::kRegular:
      return "a regular file";
    case FileKind::kDirectory:
      return "a directory";
    case FileKind::kSymlink:
      return "a symbolic link";
    case FileKind::kOther:
      break;
  }
  return "neither file, directory nor link";
}

bool agree(const FileState& one, const FileState& other) {
  if (one.kind != other.kind) return false;
  if (one.kind == FileKind::kSymlink) return one.target == other.target;
  if ((one.mode & kRights) != (other.mode & kRights)) return false;
  return one.kind != FileKind::kRegular || (one.size == other.size && one.digest == other.digest);
}

bool agree(const std::optional<FileState>& one, const std::optional<FileState>& other) {
  return one.has_value() == other.has_value() && (!one || agree(*one, *other));
}

FileState regular_state(std::string_view bytes, mode_t mode) {
  return {FileKind::kRegular, mode & kRights, bytes.size(), sys::sha256(bytes), {}, 1};
}

FileState directory_state(mode_t mode) { return {FileKind::kDirectory, mode & kRights, 0, {}, {}, 1}; }

FileState symlink_state(std::string target) { return {FileKind::kSymlink, kRights, 0, {}, std::move(target), 1}; }

}  // namespace cloche::tree
