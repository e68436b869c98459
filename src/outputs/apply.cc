#include "outputs/apply.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "outputs/paths.h"
#include "tree/apply.h"
#include "tree/path_rules.h"

namespace cloche::outputs {
namespace {

constexpr mode_t kNewManifestUmask = 022;

Status carry_out(int root, std::span<const tree::Change> changes, const tree::KeySource& key, const Watch& watch) {
  if (changes.empty()) return {};
  tree::Options options;
  // The manifest's own name is protected. What the outputs may name was decided when they were read and judged.
  options.allow_protected = true;
  options.progress = watch.progress;
  options.cancelled = watch.cancelled;
  options.key = key;
  CLOCHE_TRY_ASSIGN(const tree::Applied applied, tree::apply(root, changes, options));
  if (applied.applied) return {};
  for (const tree::Conflict& conflict : applied.conflicts) {
    if (conflict.kind == tree::ConflictKind::kProtected) continue;
    return fail(ErrorCode::kRefused, "apply " + tree::printable(conflict.path),
                conflict.reason + "; nothing was written", "something else writes to the target: try again");
  }
  return fail(ErrorCode::kInternal, "apply", "nothing was written, and no conflict says why");
}

}  // namespace

Result<Fd> open_target(const std::string& path) {
  std::string name = path;
  // With a slash at its end a link would be followed.
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  Fd target(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (target.valid()) return target;
  const int error = errno;
  const std::string step = "target " + tree::printable(path);
  if (error == ELOOP || error == ENOTDIR) {
    return std::unexpected(Error{ErrorCode::kInvalidInput, step, 0, "it is no directory, or a symbolic link",
                                 "name the directory itself"});
  }
  return std::unexpected(Error{error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kSystem, step, error,
                               "the directory cannot be opened", "make it first, or name another"});
}

Status apply(int root, const Proposal& proposal, std::span<const Output> outputs, const Terms& terms,
             const Watch& watch) {
  if (!may_proceed(proposal, terms)) {
    return fail(ErrorCode::kRefused, "outputs", "there are conflicts, and nothing was written");
  }
  std::vector<tree::Change> changes;
  for (const Item& item : proposal.items) {
    if (!item.writes()) continue;
    tree::Content content;
    if (item.after) content = outputs[*item.output].body;
    changes.push_back({item.path, item.before, item.after, std::move(content)});
  }
  CLOCHE_TRY_ASSIGN(auto manifest, change_manifest(proposal.current, proposal.next, terms.umask));
  if (manifest) changes.push_back(*std::move(manifest));
  return carry_out(root, changes, terms.key, watch);
}

Status forget(int root, std::span<const std::string> paths, const tree::KeySource& key) {
  CLOCHE_TRY_ASSIGN(const ManifestFile current, load_manifest(root));
  Manifest next = current.manifest;
  for (const std::string& path : paths) {
    if (!current.manifest.contains(path)) {
      return fail(ErrorCode::kNotFound, "forget " + tree::printable(path), "no producer owns it, and nothing was done",
                  "write paths as `cloche outputs status` shows them");
    }
    next.erase(path);
  }
  CLOCHE_TRY_ASSIGN(auto change, change_manifest(current, next, kNewManifestUmask));
  if (!change) return {};
  return carry_out(root, std::span(&*change, 1), key, {});
}

Result<std::vector<Managed>> managed_files(int root) {
  CLOCHE_TRY_ASSIGN(ManifestFile file, load_manifest(root));
  Target target(root);
  std::vector<Managed> list;
  for (auto& [path, owned] : file.manifest) {
    const State state = target.judge(path, owned).state;
    list.push_back({path, std::move(owned), state});
  }
  return list;
}

}  // namespace cloche::outputs
