#include "tree/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <memory>
#include <utility>

#include "sys/sha256.h"
#include "tree/attributes.h"
#include "tree/inspect.h"
#include "tree/moves.h"
#include "tree/path_rules.h"
#include "tree/path_walk.h"
#include "tree/protected_changes.h"

namespace cloche::tree {
namespace {

constexpr mode_t kParentMode = 0755;
constexpr std::size_t kMaxTarget = 4095;

bool is_directory(const std::optional<FileState>& state) { return state && state->kind == FileKind::kDirectory; }

std::unexpected<Error> wrong(const std::string& path, std::string message) {
  return fail(ErrorCode::kInvalidInput, "proposal for " + printable(path), std::move(message));
}

Status check_change(const Change& change) {
  CLOCHE_TRY(check_path(change.path));
  if (!change.before && !change.after) return wrong(change.path, "it states neither what was nor what shall be");
  if (!change.after) return {};
  if (change.after->kind == FileKind::kOther) {
    return wrong(change.path, "only files, directories and symbolic links can be made");
  }
  if (change.after->kind != FileKind::kSymlink) return {};
  const std::string& target = change.after->target;
  if (target.empty() || target.size() > kMaxTarget || target.find('\0') != std::string::npos) {
    return wrong(change.path, "the link's target is empty, too long or has a NUL byte");
  }
  return {};
}

class Checker {
 public:
  Checker(int root, const Options& options) : root_(root), options_(options) {}

  Result<Checked> run(std::span<const Change> changes) {
    if (changes.size() > kMaxEntries) {
      return fail(ErrorCode::kInvalidInput, "proposal", "it has more than a million changes", "apply it in parts");
    }
    for (const Change& change : changes) {
      CLOCHE_TRY(check_change(change));
      if (!by_path_.emplace(change.path, &change).second) return wrong(change.path, "it is named twice");
    }
    find_protected(changes);
    for (const auto& [path, change] : by_path_) {
      CLOCHE_TRY(not_cancelled(options_.cancelled));
      CLOCHE_TRY(check_one(*change));
    }
    for (auto& [path, task] : tasks_) {
      if (!task.entry.old_thing) {
        CLOCHE_TRY_ASSIGN(task.owner, owner_above(path));
      }
      CLOCHE_TRY_ASSIGN(task.folder, folder_now(folder_of(path)));
      checked_.tasks.push_back(std::move(task));
    }
    if (checked_.tasks.size() > kMaxEntries) {
      return fail(ErrorCode::kInvalidInput, "proposal", "it needs more than a million changes", "apply it in parts");
    }
    return std::move(checked_);
  }

 private:
  enum class Parents {
    kReal,     // directories all the way, now
    kMissing,  // not there yet, or not a directory yet
    kBlocked,  // something else is there and stays: a conflict, noted
  };

  void conflict(Conflict found) {
    const bool overridden = (found.kind == ConflictKind::kChanged && options_.force) ||
                            (found.kind == ConflictKind::kProtected && options_.allow_protected);
    if (!overridden) checked_.may_proceed = false;
    checked_.conflicts.push_back(std::move(found));
  }

  void find_protected(std::span<const Change> changes) {
    std::vector<NamedChange> named;
    named.reserve(changes.size());
    for (const Change& change : changes) {
      named.push_back({change.path, change.after ? change.after->kind : change.before->kind, !change.after});
    }
    const auto reasons = why_protected(root_, named);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (reasons[i]) protected_.emplace(&changes[i], *reasons[i]);
    }
  }

  Status check_one(const Change& change) {
    if (const auto found = protected_.find(&change); found != protected_.end()) {
      conflict({change.path, ConflictKind::kProtected, change.before, {}, found->second});
    }
    CLOCHE_TRY_ASSIGN(const Parents parents, check_parents(change));
    if (parents == Parents::kBlocked) return {};
    std::optional<Seen> seen;
    if (parents == Parents::kReal) {
      CLOCHE_TRY_ASSIGN(seen, look(root_, change.path, Mounts::kRefuse));
    }
    std::optional<FileState> present;
    if (seen) present = seen->state;
    CLOCHE_TRY_ASSIGN(const bool elsewhere, is_elsewhere(change));
    if (elsewhere || !agree(change.before, present)) {
      conflict({change.path, ConflictKind::kChanged, change.before, present,
                "the tree is not as it was when the proposal was made"});
    }
    if (is_directory(present) && !is_directory(change.after)) CLOCHE_TRY(check_goes(change));
    add_task(change, seen);
    return {};
  }

  Result<bool> is_elsewhere(const Change& change) {
    if (change.folder) {
      CLOCHE_TRY_ASSIGN(const std::optional<FolderId> now, folder_now(folder_of(change.path)));
      if (!now || !now->is_same_as(*change.folder)) return true;
    }
    if (!change.itself) return false;
    CLOCHE_TRY_ASSIGN(const std::optional<FolderId> now, folder_now(change.path));
    return !now || !now->is_same_as(*change.itself);
  }

  // Every directory above: those that the proposal changes by what they shall be, the others by what they are.
  Result<Parents> check_parents(const Change& change) {
    Status looked;
    const std::span<Parent> way =
        parents_.to(change.path, [&](std::span<const Parent> above, std::string_view path, std::string_view) {
          Result<Parent> parent = look_at_parent(above.back(), std::string(path));
          if (!parent && looked) looked = std::unexpected(std::move(parent).error());
          return parent ? *std::move(parent) : above.back();
        });
    CLOCHE_TRY(looked);
    const Parent& last = way.back();
    const auto parent = [&](std::size_t size) { return printable(std::string_view(change.path).substr(0, size)); };
    if (change.after && last.no_place && (!last.blocked || *last.no_place <= last.blocked->size)) {
      return wrong(change.path, parent(*last.no_place) + " shall be no directory, and so there is no place for it");
    }
    if (last.blocked) {
      conflict(
          {change.path,
           ConflictKind::kParentNotFolder,
           change.before,
           {},
           parent(last.blocked->size) + " is " + std::string(to_string(last.blocked->kind)) + " and not a directory"});
      return Parents::kBlocked;
    }
    if (change.after) need_parents(way, change.path);
    return last.missing ? Parents::kMissing : Parents::kReal;
  }

  // What is known of a directory above a change and of those above it; sizes are of its path or theirs.
  struct Parent {
    struct Blocked {
      std::size_t size;
      FileKind kind;
    };
    std::size_t size = 0;
    bool missing = false;
    bool needed = false;                  // missing, and nobody names it
    std::optional<std::size_t> no_place;  // the first that shall be no directory
    std::optional<Blocked> blocked;       // the first that is none, and nobody changes that
  };

  Result<Parent> look_at_parent(const Parent& above, const std::string& path) {
    Parent parent = above;
    parent.size = path.size();
    parent.needed = false;
    if (parent.blocked) return parent;
    const auto named = by_path_.find(path);
    const bool is_named = named != by_path_.end();
    if (is_named && !parent.no_place && !is_directory(named->second->after)) parent.no_place = path.size();
    std::optional<FileKind> now;
    if (!parent.missing) {
      CLOCHE_TRY_ASSIGN(now, kind_now(path));
    }
    if (now == FileKind::kDirectory) return parent;
    if (now && !is_named) {
      parent.blocked = Parent::Blocked{path.size(), *now};
      return parent;
    }
    parent.missing = true;
    parent.needed = !is_named;
    return parent;
  }

  void need_parents(std::span<Parent> way, const std::string& path) {
    for (Parent& parent : way) {
      if (parent.needed) need_parent(path.substr(0, parent.size));
      parent.needed = false;  // from now on
    }
  }

  struct Above {
    FileKind kind = FileKind::kOther;
    Owner owner;
    std::optional<FolderId> id;  // of a directory
  };

  static std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string() : path.substr(0, slash);
  }

  // Nothing of the tree's own directory, which is held.
  Result<std::optional<FolderId>> folder_now(const std::string& path) {
    if (path.empty()) return std::nullopt;
    CLOCHE_TRY_ASSIGN(const std::optional<Above> above, above_now(path));
    if (!above) return std::nullopt;
    return above->id;
  }

  // What is new in this directory.
  static Owner owner_of_new(int fd, const struct stat& directory) {
    const bool shared = S_ISDIR(directory.st_mode) && (directory.st_mode & S_ISGID) != 0;
    return {directory.st_uid, directory.st_gid, shared, shared, list_for_new(fd)};
  }

  Result<std::optional<FileKind>> kind_now(const std::string& path) {
    CLOCHE_TRY_ASSIGN(const std::optional<Above> above, above_now(path));
    if (!above) return std::nullopt;
    return above->kind;
  }

  Result<std::optional<Above>> above_now(const std::string& path) {
    if (const auto known = above_.find(path); known != above_.end()) return known->second;
    auto opened = open_beneath(root_, path, O_PATH, Mounts::kRefuse);
    if (!opened) {
      // Behind a file or a link there is no directory of the tree, whatever the link leads to.
      if (!not_there(opened.error())) return std::unexpected(std::move(opened).error());
      return above_[path] = std::nullopt;
    }
    struct stat st{};
    if (::fstat(opened->get(), &st) != 0) {
      return fail_errno(errno, "inspect " + printable(path), "could not be inspected");
    }
    Above above{kind_of(st), owner_of_new(opened->get(), st), {}};
    if (above.kind == FileKind::kDirectory) above.id = folder_id_now(opened->get());
    return above_[path] = above;
  }

  Result<Owner> owner_above(const std::string& path) {
    for (std::size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0;
         slash = path.rfind('/', slash - 1)) {
      CLOCHE_TRY_ASSIGN(const std::optional<Above> above, above_now(path.substr(0, slash)));
      if (above && above->kind == FileKind::kDirectory) return above->owner;
    }
    struct stat st{};
    if (::fstat(root_, &st) != 0) return fail_errno(errno, "inspect the tree", "could not be inspected");
    return owner_of_new(root_, st);
  }

  void need_parent(const std::string& path) {
    Task& task = tasks_[path];
    task.entry.path = path;
    task.entry.new_thing = Thing{FileKind::kDirectory, kParentMode, {}, {}, {}};
  }

  // A directory that is to go: everything in it must go by the proposal's own words.
  Status check_goes(const Change& change) {
    const std::string step = "list " + printable(change.path);
    CLOCHE_TRY_ASSIGN(Fd fd, open_beneath(root_, change.path, O_RDONLY | O_DIRECTORY, Mounts::kRefuse));
    const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(fd.get()), &::closedir);
    if (list == nullptr) return fail_errno(errno, step, "the directory could not be read");
    (void)fd.release();
    errno = 0;
    while (const struct dirent* entry = ::readdir(list.get())) {
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      const auto named = by_path_.find(change.path + "/" + name);
      if (named != by_path_.end() && !named->second->after) continue;
      conflict({change.path,
                ConflictKind::kNotEmpty,
                change.before,
                {},
                "the directory holds " + printable(name) + ", which the proposal does not delete"});
      return {};
    }
    if (errno != 0) return fail_errno(errno, step, "the directory could not be read");
    return {};
  }

  void add_task(const Change& change, const std::optional<Seen>& seen) {
    // With force: what shall go and is gone.
    if (!seen && !change.after) return;
    Task& task = tasks_[change.path];
    task.change = &change;
    task.entry.path = change.path;
    if (seen) task.owner = seen->owner;
    if (seen) {
      const FileState& old = seen->state;
      const sys::Digest digest = old.kind == FileKind::kSymlink ? sys::sha256(old.target) : old.digest;
      task.entry.old_thing = Thing{old.kind, seen->whole_mode, seen->identity, seen->changed, digest};
    }
    if (change.after) task.entry.new_thing = Thing{change.after->kind, change.after->mode & 0777, {}, {}, {}};
  }

  int root_;
  const Options& options_;
  std::map<std::string, const Change*> by_path_;
  std::map<const Change*, std::string> protected_;     // with the reason
  std::map<std::string, std::optional<Above>> above_;  // parents, now; nothing: not there
  PathWalk<Parent> parents_ = PathWalk<Parent>(Parent{});
  std::map<std::string, Task> tasks_;
  Checked checked_;
};

}  // namespace

Status not_cancelled(const std::function<bool()>& cancelled) {
  if (!cancelled || !cancelled()) return {};
  return fail_errno(ECANCELED, "apply", "it was stopped before anything was changed");
}

Result<Checked> check(int root, std::span<const Change> changes, const Options& options) {
  return Checker(root, options).run(changes);
}

}  // namespace cloche::tree
