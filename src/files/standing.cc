#include "files/standing.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "files/folder_id.h"
#include "files/known_folders.h"
#include "tree/inspect.h"
#include "tree/place.h"

namespace cloche::files {

namespace {

// A file or a link on the way that the proposal itself makes a directory of: there is nothing behind it yet.
bool way_is_made(const Proposal& proposal, const std::string& path) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const auto found = std::ranges::lower_bound(proposal.entries, path.substr(0, slash), {}, &Entry::path);
    if (found == proposal.entries.end() || found->path != path.substr(0, slash) || !found->pending()) continue;
    if (kind_of(*found) == ChangeKind::kType && found->after->kind == tree::FileKind::kDirectory) return true;
  }
  return false;
}

std::optional<FolderId> folder_at(int root, const std::string& path) {
  const auto folder = tree::open_beneath(root, path, O_PATH | O_DIRECTORY, tree::Mounts::kRefuse);
  return folder ? folder_id(folder->get()) : std::nullopt;
}

}  // namespace

EntryFolders folders_now(int root, const Entry& entry) {
  EntryFolders out;
  const std::size_t slash = entry.path.rfind('/');
  if (slash != std::string::npos) out.above = folder_at(root, entry.path.substr(0, slash));
  if (entry.before && entry.before->kind == tree::FileKind::kDirectory) out.itself = folder_at(root, entry.path);
  return out;
}

Found compare(int root, const Proposal& proposal, std::size_t index) {
  const Entry& entry = proposal.entries[index];
  Found found;
  auto present = tree::inspect(root, entry.path);
  if (!present && !entry.before && present.error().errno_value == ELOOP && way_is_made(proposal, entry.path)) {
    return found;
  }
  if (!present) {
    found.standing = Standing::kCannotBeSeen;
    found.reason = present.error().message;
    return found;
  }
  found.present = std::move(*present);
  if (tree::agree(found.present, entry.after)) {
    found.standing = Standing::kThere;
  } else if (entry.has(kHostChanged)) {
    found.standing = Standing::kUnknown;
    found.reason = "changed on the host while the guest ran";
  } else if (entry.has(kNeverSeen)) {
    found.standing = Standing::kUnknown;
    found.reason = "the host has something there that the guest never saw";
  } else if (auto elsewhere = why_elsewhere(root, proposal, entry)) {
    found.standing = Standing::kUnknown;
    found.reason = *std::move(elsewhere);
  } else if (!tree::agree(found.present, entry.before)) {
    found.standing = Standing::kConflict;
    found.reason = !found.present  ? "deleted on the host since"
                   : !entry.before ? "made on the host since"
                                   : "changed on the host since";
  }
  return found;
}

}  // namespace cloche::files
