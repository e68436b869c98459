#include "engine/keep.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "engine/copy_note.h"
#include "files/proposal.h"
#include "plan/steps.h"
#include "sys/file.h"
#include "wire/wire.h"

namespace cloche {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// A new directory of ours, and its descriptor.
Result<Fd> make_folder(int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail_errno(errno, "keep files", "a directory could not be made where runs are kept");
  }
  Fd folder(::openat(parent, name.c_str(), kDirectory));
  if (!folder.valid()) return fail_errno(errno, "keep files", "a directory could not be opened where runs are kept");
  return folder;
}

Result<Fd> open_in_scratch(const Leftovers& left, const std::string& path) {
  Fd folder(::openat(left.scratch.get(), path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.valid()) return fail_errno(errno, "keep files", "the guest's files cannot be reached");
  return folder;
}

// What took the changes to a workspace.
Result<Fd> open_upper(const Workspace& workspace, const Leftovers& left) {
  const std::string path = workspace.scratch + "/" + wire::kUpperName;
  if (left.disk.path().empty()) return open_in_scratch(left, path);
  Fd folder(::open((left.disk.path() + "/" + path).c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.valid()) return fail_errno(errno, "keep files", "the guest's files cannot be reached");
  return folder;
}

files::View view_of(const Plan& plan, std::size_t index, const Leftovers& left, const Fd& upper) {
  const Workspace& workspace = plan.workspaces[index];
  files::View view;
  view.root = workspace.path;
  view.kind = view_kind(workspace);
  view.lower = left.roots[index].get();
  view.upper = upper.get();
  view.started = left.started;
  view.made = left.copied;
  view.covered = workspace.covered;
  view.whereabouts = &left.whereabouts[index];
  for (const Kept kept : plan.keep) view.keep |= kept == Kept::kSetId ? files::kKeepSetId : files::kKeepXattrs;
  return view;
}

// What was not kept as a whole is of no use to anybody, and the report needs room, too.
void drop_half(int folder, const std::string& name) {
  (void)sys::remove_tree("/proc/self/fd/" + std::to_string(folder) + "/" + name);
}

Result<files::Summary> keep_workspace(const Plan& plan, std::size_t index, const Leftovers& left,
                                      const Keeping& keeping) {
  CLOCHE_TRY_ASSIGN(const Fd upper, open_upper(plan.workspaces[index], left));
  CLOCHE_TRY_ASSIGN(const Fd all, make_folder(keeping.directory, "ws"));
  const std::string name = std::to_string(index);
  CLOCHE_TRY_ASSIGN(const Fd into, make_folder(all.get(), name));
  auto kept = files::capture(view_of(plan, index, left, upper), into.get(), keeping.progress);
  if (!kept) drop_half(all.get(), name);
  return kept;
}

// The parts of the cell that a guest can write, by their names in the scratch (plan/steps_namespace.cc).
Result<std::vector<files::GuestPlace>> guest_places(const Plan& plan, const Leftovers& left) {
  std::vector<files::GuestPlace> out;
  for (std::size_t i = 0; i < plan.workspaces.size(); ++i) {
    const Workspace& workspace = plan.workspaces[i];
    CLOCHE_TRY_ASSIGN(Fd upper, open_upper(workspace, left));
    const int lower = view_kind(workspace) == files::ViewKind::kOverlay ? left.roots[i].get() : -1;
    out.push_back({workspace.path, std::move(upper), lower, workspace.covered});
  }
  for (const Step& step : plan.steps) {
    if (step.kind != wire::StepKind::kScratchDir || step.serves != Guarantee::kDisk) continue;
    CLOCHE_TRY_ASSIGN(Fd folder, open_in_scratch(left, step.b));
    out.push_back({"/" + step.a, std::move(folder)});
  }
  return out;
}

Status keep_artifacts(const std::vector<files::GuestPlace>& places, const Keeping& keeping, Report& report) {
  if (keeping.artifacts.empty()) return {};
  CLOCHE_TRY_ASSIGN(const Fd into, make_folder(keeping.directory, "artifacts"));
  const auto found = files::collect(places, keeping.artifacts, into.get(), keeping.progress);
  if (!found) {
    drop_half(keeping.directory, "artifacts");
    return std::unexpected(found.error());
  }
  for (const files::Collected& file : *found) {
    report.outputs.push_back({file.path, file.size, sys::to_hex(file.digest), file.type});
  }
  return {};
}

// The hidden directory of a copy that is under way goes with the engine, however that ends; and where the janitor is
// killed, too, with the run's record.
files::Caretaker caretaker_of(Janitor* janitor, int run_directory) {
  return {[=](const std::string& path) -> Status {
            note_copy(run_directory, {path, std::nullopt});
            return janitor == nullptr ? Status{} : janitor->watch(Janitor::Kind::kCopy, {path});
          },
          [=](const std::string& path, const sys::DirectoryId& id) -> Status {
            note_copy(run_directory, {path, files::FolderId{id.inode, id.born_seconds, id.born_nanoseconds}});
            return janitor == nullptr ? Status{} : janitor->identify(path, id);
          },
          [=](const std::string& path) {
            if (janitor != nullptr) janitor->forget({path});
            forget_copy(run_directory);
          }};
}

}  // namespace

Status check_apart(const std::string& run_directory, const std::vector<std::string>& workspaces) {
  std::error_code error;
  const std::string kept = std::filesystem::canonical(run_directory, error).string();
  for (const std::string& workspace : workspaces) {
    if (!error && !lies_below(kept, workspace) && !lies_below(workspace, kept)) continue;
    return fail(ErrorCode::kRefused, "workspace " + workspace, "runs are kept inside of it",
                "name a directory below it, or keep runs elsewhere with CLOCHE_STATE_DIR");
  }
  return {};
}

std::string canonical_place(const std::string& run_directory) {
  std::error_code error;
  std::string out = std::filesystem::canonical(run_directory, error).string();
  return error ? run_directory : out;
}

Status keep_files(const Plan& plan, const Leftovers& left, const Keeping& keeping, Report& report) {
  Status first;
  const auto note = [&first](const Status& status) {
    if (first && !status) first = status;
  };
  for (std::size_t i = 0; i < plan.workspaces.size(); ++i) {
    const Workspace& workspace = plan.workspaces[i];
    WorkspaceChanges changes;
    changes.path = workspace.path;
    changes.mode = workspace.copied ? "copy" : "overlay";
    auto summary = keep_workspace(plan, i, left, keeping);
    if (summary) {
      changes.added = summary->added;
      changes.modified = summary->modified;
      changes.deleted = summary->deleted;
    } else {
      changes.problem = summary.error().text();
      note(std::unexpected(summary.error()));
    }
    report.workspaces.push_back(std::move(changes));
  }
  if (keeping.artifacts.empty() && keeping.gets.empty()) return first;
  auto places = guest_places(plan, left);
  if (!places) return std::unexpected(places.error());
  note(keep_artifacts(*places, keeping, report));
  for (const auto& [path, to] : keeping.gets) {
    auto fetched = files::fetch(*places, path, to, keeping.progress, caretaker_of(left.janitor, keeping.directory));
    if (!fetched) note(std::unexpected(fetched.error()));
  }
  return first;
}

Result<std::vector<files::ChangedPath>> changed_paths(const Plan& plan, const Leftovers& left,
                                                      const files::Progress& progress) {
  std::vector<files::ChangedPath> out;
  for (std::size_t i = 0; i < plan.workspaces.size(); ++i) {
    CLOCHE_TRY_ASSIGN(const Fd upper, open_upper(plan.workspaces[i], left));
    CLOCHE_TRY_ASSIGN(auto changed, files::changed_paths(view_of(plan, i, left, upper), progress));
    for (files::ChangedPath& one : changed) {
      out.push_back({plan.workspaces[i].path + "/" + one.path, std::move(one.after)});
    }
  }
  return out;
}

}  // namespace cloche
