#include "files/known_folders.h"

#include <fcntl.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "tree/moves.h"
#include "tree/path_rules.h"
#include "tree/place.h"

namespace cloche::files {
namespace {

std::string_view above(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

const KnownFolder* find(const std::vector<KnownFolder>& folders, std::string_view path) {
  const auto found = std::ranges::lower_bound(folders, path, {}, &KnownFolder::path);
  return found == folders.end() || found->path != path ? nullptr : &*found;
}

enum class Now { kTheSame, kAnother, kGone };

// What cannot be reached for another reason is said by whoever reads what is in it.
Now look(int root, const KnownFolder& known) {
  const std::string path = known.path.empty() ? "." : known.path;
  const auto folder = tree::open_beneath(root, path, O_PATH | O_DIRECTORY, tree::Mounts::kCross);
  if (!folder) return tree::not_there(folder.error()) ? Now::kGone : Now::kTheSame;
  const auto id = folder_id(folder->get());
  return id && id->is_same_as(known.id) ? Now::kTheSame : Now::kAnother;
}

}  // namespace

void FolderNotes::add(const std::string& path, int folder) {
  if (const auto id = folder_id(folder)) folders_.push_back({path, *id});
}

std::vector<KnownFolder> FolderNotes::take() {
  std::ranges::stable_sort(folders_, {}, &KnownFolder::path);
  const auto again = std::ranges::unique(folders_, {}, &KnownFolder::path);
  folders_.erase(again.begin(), again.end());
  return std::move(folders_);
}

void learn_folders(int root, Proposal& proposal) {
  FolderNotes notes;
  std::string last;  // the workspace itself was known from the beginning
  for (const Entry& entry : proposal.entries) {
    std::string folder(above(entry.path));
    if (!entry.pending() || folder == last || find(proposal.folders, folder) != nullptr) continue;
    last = std::move(folder);
    const auto opened = tree::open_beneath(root, last, O_PATH | O_DIRECTORY, tree::Mounts::kRefuse);
    if (opened) notes.add(last, opened->get());
  }
  std::vector<KnownFolder> more = notes.take();
  if (more.empty()) return;
  std::ranges::move(more, std::back_inserter(proposal.folders));
  std::ranges::sort(proposal.folders, {}, &KnownFolder::path);
}

std::optional<std::string> why_elsewhere(int root, const Proposal& proposal, const Entry& entry) {
  const KnownFolder* top = find(proposal.folders, "");
  if (top != nullptr && look(root, *top) != Now::kTheSame) {
    return "another directory is where the workspace was";
  }
  const std::string_view folder = above(entry.path);
  if (const KnownFolder* known = folder.empty() ? nullptr : find(proposal.folders, folder)) {
    const Now now = look(root, *known);
    if (now == Now::kAnother) return "another directory is where " + tree::printable(folder) + " was";
    if (now == Now::kGone) return tree::printable(folder) + " was moved away or removed on the host since";
  }
  const bool was_folder = entry.before && entry.before->kind == tree::FileKind::kDirectory;
  const KnownFolder* itself = was_folder ? find(proposal.folders, entry.path) : nullptr;
  if (itself != nullptr && look(root, *itself) == Now::kAnother) return "another directory is there since";
  return std::nullopt;
}

}  // namespace cloche::files
