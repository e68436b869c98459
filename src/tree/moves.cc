#include "tree/moves.h"

#include <fcntl.h>
#include <stdio.h>

#include <cerrno>

#include "tree/path_rules.h"

namespace cloche::tree {

std::unexpected<Error> changed(const Entry& entry) {
  return fail(ErrorCode::kSystem, "apply " + printable(entry.path), "it was changed by somebody else meanwhile",
              "try again when nothing else writes to the tree");
}

std::unexpected<Error> cannot_move(int error, const Entry& entry) {
  std::string hint;
  if (error == EEXIST) hint = "something new is at its place";
  if (error == EXDEV) hint = "a mount is in the way, or an overlay that cannot rename directories";
  if (error == EINVAL) hint = "this file system cannot rename without replacing";
  return fail_errno(error, "apply " + printable(entry.path), "could not be moved", std::move(hint));
}

Status move(int from, const std::string& name, int to, const std::string& new_name, const Entry& entry) {
  if (::renameat2(from, name.c_str(), to, new_name.c_str(), RENAME_NOREPLACE) == 0) return {};
  return cannot_move(errno, entry);
}

Result<bool> exchange(int folder, const std::string& name, const Place& place, const Entry& entry) {
  if (::renameat2(folder, name.c_str(), place.folder.get(), place.name.c_str(), RENAME_EXCHANGE) == 0) return true;
  if (errno == EINVAL) return false;
  return cannot_move(errno, entry);
}

bool is(const Thing& thing, const struct stat& st) {
  return kind_of(st) == thing.kind && identity_of(st) == thing.identity;
}

bool is_directory(const std::optional<Thing>& thing) { return thing && thing->kind == FileKind::kDirectory; }

bool not_there(const Error& error) {
  return error.errno_value == ENOENT || error.errno_value == ENOTDIR || error.errno_value == ELOOP;
}

}  // namespace cloche::tree
