#include "tree/apply.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "tree/carry_out.h"
#include "tree/check.h"
#include "tree/held_signals.h"
#include "tree/how_far.h"
#include "tree/inspect.h"
#include "tree/moves.h"
#include "tree/path_rules.h"
#include "tree/staging.h"

namespace cloche::tree {
namespace {

constexpr std::string_view kAsItWas = "the tree is as it was";

void tell(const Options& options, const std::string& step) {
  if (options.progress) options.progress(step);
}

// A descriptor of our own: the caller's may be O_PATH, which cannot be made durable.
Result<Fd> open_root(int root) {
  Fd own(::openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own.valid()) return fail_errno(errno, "open the tree", "it is not a directory that can be read");
  return own;
}

Status undo(CarryOut& work, const Staging& staging) {
  CLOCHE_TRY(work.back());
  return staging.advance(Stage::kUndoing, Stage::kDone);
}

// What others keep from being undone: everything that was put into the tree and did not come back.
std::string left_text(const std::vector<std::string>& left) {
  constexpr std::size_t kNamed = 20;
  if (left.empty()) return {};
  std::string text = "; not taken back, because somebody else moved, removed, changed or uses it: ";
  for (std::size_t i = 0; i < left.size() && i < kNamed; ++i) text += (i == 0 ? "" : ", ") + printable(left[i]);
  if (left.size() > kNamed) text += " and " + std::to_string(left.size() - kNamed) + " more";
  return text;
}

std::string why_text(const KeptAside& kept) {
  const std::string path = printable(kept.path);
  if (kept.why == KeptAside::Why::kEarlier) return "; what " + path + " was before";
  if (kept.why == KeptAside::Why::kChanged) return "; somebody else changed what " + path + " was before, which";
  if (kept.why == KeptAside::Why::kTaken) return "; somebody else wrote " + path + " meanwhile, and what it was before";
  return "; the directory of " + path + " is not there any more, and what was there before";
}

// What is said of things that others kept from their places; nothing where there are none.
std::string kept_text(const CarryOut& work) {
  constexpr std::size_t kNamed = 3;
  const std::vector<KeptAside>& kept = work.kept_aside();
  std::string text;
  for (std::size_t i = 0; i < kept.size() && i < kNamed; ++i) {
    text += why_text(kept[i]) + " is kept as " + printable(kept[i].place);
  }
  if (kept.size() > kNamed) {
    text += "; so are " + std::to_string(kept.size() - kNamed) + " more, named *" + std::string(kOldSuffix);
  }
  return text + left_text(work.left());
}

// The old things are kept, and the next recover() tries again.
Error not_undone(const std::string& why, const Error& obstacle, const CarryOut& work) {
  Error error = obstacle;
  error.message = "could not be undone: " + obstacle.message + (obstacle.hint.empty() ? "" : ", " + obstacle.hint) +
                  kept_text(work) + "; undone because of: " + why;
  error.hint =
      "move away what is in its place or in place of a directory above; the next diff, apply or run with this "
      "directory puts back the old file, which is kept in " +
      std::string(kStagingName);
  return error;
}

constexpr std::string_view kInterrupted = "it was being undone when it was interrupted";

struct Outcome {
  bool done = false;
  Error why;         // where it was undone
  std::string kept;  // what was not put back to its place
};

// From a committed journal to the end, one way or the other.
Result<Outcome> carry(int root, const Staging& staging, const Journal& journal, const Progress& progress) {
  CarryOut work(root, staging, journal, progress);
  const Status forward = work.forward();
  if (forward) {
    if (progress) progress("done");
    CLOCHE_TRY(staging.advance(Stage::kCommitted, Stage::kDone));
    return Outcome{true, {}, {}};
  }
  if (progress) progress("undo");
  CLOCHE_TRY(staging.advance(Stage::kCommitted, Stage::kUndoing));
  if (auto undone = undo(work, staging); !undone) {
    return std::unexpected(not_undone(forward.error().text(), undone.error(), work));
  }
  return Outcome{false, forward.error(), kept_text(work)};
}

// It ended, and was interrupted before that was noted: a copy of its journal must not count for longer.
void forget_done(int root, const Staging& staging, Recovered& result) {
  result.ended = true;
  const auto seal = staging.seal();
  const auto journal = seal ? staging.journal(Stage::kDone, *seal) : std::unexpected(seal.error());
  if (!journal) return;
  look_how_far(root, *journal, result);
  staging.end(*seal);
}

Result<Recovered> recover_locked(int root, const Staging& staging, const Progress& progress) {
  const HeldSignals held;
  CLOCHE_TRY_ASSIGN(const Stage stage, staging.stage());
  CLOCHE_TRY_ASSIGN(const Entries left, entries_of(staging.folder(), "."));
  if (left == Entries::kNone) return Recovered{};
  Recovered result;
  result.outcome = Recovery::kDiscarded;
  if (stage == Stage::kDone) {
    forget_done(root, staging, result);
  } else if (stage == Stage::kCommitted) {
    CLOCHE_TRY_ASSIGN(const Seal seal, staging.seal());
    CLOCHE_TRY_ASSIGN(const Journal journal, staging.journal(stage, seal));
    look_how_far(root, journal, result);
    CLOCHE_TRY_ASSIGN(const Outcome outcome, carry(root, staging, journal, progress));
    result.outcome = outcome.done ? Recovery::kFinished : Recovery::kRolledBack;
    if (!outcome.done) result.reason = outcome.why.text() + outcome.kept;
    result.partly = !outcome.kept.empty();
    staging.end(seal);
  } else if (stage == Stage::kUndoing) {
    CLOCHE_TRY_ASSIGN(const Seal seal, staging.seal());
    CLOCHE_TRY_ASSIGN(const Journal journal, staging.journal(stage, seal));
    look_how_far(root, journal, result);
    CarryOut work(root, staging, journal, progress);
    if (auto undone = undo(work, staging); !undone) {
      return std::unexpected(not_undone(std::string(kInterrupted), undone.error(), work));
    }
    const std::string kept = kept_text(work);
    result.outcome = Recovery::kRolledBack;
    result.reason = std::string(kInterrupted) + kept;
    result.partly = !kept.empty();
    staging.end(seal);
  }
  CLOCHE_TRY(staging.clear(progress));
  return result;
}

// The file that another one replaces: its attributes stay and, where the change brings none, its bytes.
Result<Present> present_file(int root, const Task& task) {
  Present present;
  if (!task.entry.old_thing || task.entry.old_thing->kind != FileKind::kRegular ||
      task.change->after->kind != FileKind::kRegular) {
    return present;
  }
  CLOCHE_TRY_ASSIGN(present.place, open_beneath(root, task.entry.path, O_PATH, Mounts::kRefuse));
  if (std::holds_alternative<std::monostate>(task.change->content)) {
    CLOCHE_TRY_ASSIGN(present.content, reopen_regular(present.place.get(), task.entry.path));
  }
  return present;
}

// The directory that the next task's entry is in, or comes to, once all before it are in the journal.
Result<std::uint64_t> folder_of(int root, const Task& task, const Journal& journal) {
  const Entry& entry = task.entry;
  const std::size_t slash = entry.path.rfind('/');
  const std::string parent = slash == std::string::npos ? "" : entry.path.substr(0, slash);
  const auto above = std::ranges::lower_bound(journal, parent, {}, &Entry::path);
  const bool listed = above != journal.end() && above->path == parent;
  if (listed && above->puts() && is_directory(above->new_thing)) return above->new_thing->identity.inode;
  CLOCHE_TRY_ASSIGN(const Fd folder,
                    open_beneath(root, parent.empty() ? "." : parent, O_PATH | O_DIRECTORY, Mounts::kRefuse));
  struct stat st{};
  if (::fstat(folder.get(), &st) != 0) {
    return fail_errno(errno, "inspect " + printable(parent), "could not be inspected");
  }
  const auto now = folder_id_now(folder.get());
  if (task.folder && now && !now->is_same_as(*task.folder)) return changed(entry);
  // One that the proposal takes or changes gets the owner's rights first.
  const bool moves = entry.takes() || entry.puts();
  if (moves && !listed && ::faccessat(folder.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
    return fail(ErrorCode::kRefused, "apply " + printable(entry.path),
                "its directory " + (parent.empty() ? std::string("itself") : printable(parent)) +
                    " is one that this user may not write to",
                "chmod u+wx " + (parent.empty() ? std::string(".") : printable(parent)) + " there, and apply again");
  }
  return st.st_ino;
}

Result<Journal> stage_all(int root, const Staging& staging, std::vector<Task>& tasks, const Options& options) {
  Journal journal;
  std::string last;
  std::uint64_t folder = 0;
  bool judged = false;
  for (Task& task : tasks) {
    const std::size_t number = journal.size();
    CLOCHE_TRY(not_cancelled(options.cancelled));
    const std::size_t slash = task.entry.path.rfind('/');
    std::string parent = slash == std::string::npos ? "" : task.entry.path.substr(0, slash);
    const bool moves = task.entry.takes() || task.entry.puts();
    // Neighbours come one after the other.
    if (number == 0 || parent != last || (moves && !judged)) {
      CLOCHE_TRY_ASSIGN(folder, folder_of(root, task, journal));
      last = std::move(parent);
      judged = moves;
    }
    task.entry.folder = folder;
    if (task.entry.puts()) {
      tell(options, "stage " + printable(task.entry.path));
      if (task.change == nullptr) {
        CLOCHE_TRY_ASSIGN(task.entry.new_thing, staging.make_directory(number, task.entry.new_thing->mode, task.owner));
      } else {
        CLOCHE_TRY_ASSIGN(const Present present, present_file(root, task));
        const Copied copied = [&](std::uint64_t bytes) {
          constexpr std::uint64_t kMebibyte = 1024 * 1024;
          tell(options, "stage " + printable(task.entry.path) + ", " + std::to_string(bytes / kMebibyte) + " of " +
                            std::to_string(task.change->after->size / kMebibyte) + " MiB");
          return not_cancelled(options.cancelled);
        };
        CLOCHE_TRY_ASSIGN(task.entry.new_thing, staging.make_new(number, *task.change, task.owner, present, copied));
      }
    }
    journal.push_back(std::move(task.entry));
  }
  return journal;
}

void count(const std::vector<Task>& tasks, Applied& applied) {
  for (const Task& task : tasks) {
    if (task.change == nullptr) {
      applied.parents.push_back(task.entry.path);
    } else if (!task.entry.new_thing) {
      ++applied.deleted;
    } else {
      ++(task.entry.old_thing ? applied.modified : applied.added);
    }
  }
}

// Signals are held from the decision on, for as long as the caller says.
Status stage_and_carry(int root, const Staging& staging, std::vector<Task>& tasks, const Options& options,
                       std::optional<HeldSignals>& held) {
  const auto seal = staging.begin();
  auto journal = seal ? stage_all(root, staging, tasks, options) : std::unexpected(seal.error());
  held.emplace();
  if (auto wanted = not_cancelled(options.cancelled); journal && !wanted) journal = std::unexpected(wanted.error());
  if (journal) {
    tell(options, "commit");
    if (auto committed = staging.commit(*journal, *seal); !committed) journal = std::unexpected(committed.error());
  }
  if (!journal) {
    Error error = std::move(journal).error();
    error.message += "; " + std::string(kAsItWas);
    if (seal) staging.end(*seal);
    return std::unexpected(std::move(error));
  }
  CLOCHE_TRY_ASSIGN(Outcome outcome, carry(root, staging, *journal, options.progress));
  tell(options, "end");
  staging.end(*seal);
  if (outcome.done) return {};
  outcome.why.message += outcome.kept.empty() ? "; everything was undone, and " + std::string(kAsItWas)
                                              : "; everything else was undone" + outcome.kept;
  return std::unexpected(std::move(outcome.why));
}

Result<Applied> apply_locked(int root, const Staging& staging, std::span<const Change> changes, const Options& options,
                             std::optional<HeldSignals>& held) {
  Applied applied;
  CLOCHE_TRY_ASSIGN(applied.recovered, recover_locked(root, staging, options.progress));
  CLOCHE_TRY_ASSIGN(Checked checked, check(root, changes, options));
  applied.conflicts = std::move(checked.conflicts);
  if (!checked.may_proceed) return applied;
  count(checked.tasks, applied);
  CLOCHE_TRY(stage_and_carry(root, staging, checked.tasks, options, held));
  applied.applied = true;
  return applied;
}

}  // namespace

Result<Applied> apply(int root, std::span<const Change> changes, const Options& options) {
  CLOCHE_TRY_ASSIGN(const Fd own, open_root(root));
  CLOCHE_TRY_ASSIGN(const auto staging,
                    Staging::open(own.get(), Staging::Missing::kMake, options.key, options.progress));
  // Until all is tidied up.
  std::optional<HeldSignals> held;
  auto result = apply_locked(own.get(), *staging, changes, options, held);
  CLOCHE_TRY_ASSIGN(const Stage stage, staging->stage());
  // A journal that could not be brought to its end stays for the next recover(). What cannot be tidied up now is
  // tidied up by the next one, too: it changes nothing about what was done.
  if (stage == Stage::kOpen || stage == Stage::kDone) (void)staging->discard(options.progress);
  return result;
}

Result<Recovered> recover(int root, const Options& options) {
  CLOCHE_TRY_ASSIGN(const Fd own, open_root(root));
  CLOCHE_TRY_ASSIGN(const auto staging,
                    Staging::open(own.get(), Staging::Missing::kLeave, options.key, options.progress));
  if (!staging) return Recovered{};
  CLOCHE_TRY_ASSIGN(Recovered result, recover_locked(own.get(), *staging, options.progress));
  CLOCHE_TRY(staging->discard(options.progress));
  return result;
}

}  // namespace cloche::tree
