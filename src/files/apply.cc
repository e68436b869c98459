#include "files/apply.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "diff/content.h"
#include "diff/merge.h"
#include "files/blobs.h"
#include "files/known_folders.h"
#include "files/standing.h"
#include "tree/check.h"
#include "tree/inspect.h"
#include "tree/path_rules.h"
#include "tree/place.h"

namespace cloche::files {
namespace {

using tree::FileKind;

// What one entry shall become: its `after`, or a text of its own.
struct Target {
  std::optional<tree::FileState> state;
  std::optional<std::string> text;
  bool keeps_bytes = false;  // only the mode changes, of whatever is there
};

// What is noted in the proposal once everything was applied.
struct Note {
  std::size_t index = 0;
  std::optional<std::string> part;  // the new base, where only some hunks were applied
};

bool is_regular(const std::optional<tree::FileState>& state) { return state && state->kind == FileKind::kRegular; }

bool lies_in(const std::string& path, const std::string& folder) {
  return path == folder || folder.empty() || (path.starts_with(folder) && path[folder.size()] == '/');
}

class Application {
 public:
  Application(int root, int directory, Proposal& proposal, const ApplyOptions& options)
      : root_(root), directory_(directory), proposal_(proposal), options_(options) {}

  Result<Outcome> run(Selection selection);

 private:
  Status prepare(std::size_t index, const std::optional<std::vector<std::size_t>>& hunks);
  Result<Target> target_of(std::size_t index, const std::optional<std::vector<std::size_t>>& hunks, Note& note) const;
  bool merge_modes(const Entry& entry, const Found& found, Target& target);
  Result<bool> resolve(const Entry& entry, const Found& found, Target& target);
  Result<std::optional<diff::Merge>> merge(const Entry& entry, const Found& found, const Target& target) const;
  Result<std::optional<std::string>> present_text(const Entry& entry, const Found& found) const;
  void check_protected(std::size_t index);
  void add_change(const Entry& entry, const Found& found, const EntryFolders& folders, Target target);
  void keep_what_may_have_moved();
  Status carry_out();
  Status take_notes();

  int root_;
  int directory_;
  Proposal& proposal_;
  const ApplyOptions& options_;
  Outcome outcome_;
  std::vector<tree::Change> changes_;
  std::map<std::uint64_t, std::string> left_out_;  // files with content that cannot be applied, by size
  std::vector<Note> notes_;
  std::vector<std::optional<std::string>> protected_;  // why, by the entry's index
};

Result<Outcome> Application::run(Selection selection) {
  add_parents(proposal_, selection);
  protected_ = why_protected(root_, proposal_);
  for (const auto& [index, hunks] : selection) {
    CLOCHE_TRY(tree::not_cancelled(options_.cancelled));
    CLOCHE_TRY(prepare(index, hunks));
  }
  keep_what_may_have_moved();
  CLOCHE_TRY(carry_out());
  if (!outcome_.applied) return std::move(outcome_);
  if (auto noted = take_notes(); !noted) {
    Error error = std::move(noted).error();
    error.message = "everything was applied, but that could not be noted: " + error.message;
    return std::unexpected(std::move(error));
  }
  return std::move(outcome_);
}

Status Application::prepare(std::size_t index, const std::optional<std::vector<std::size_t>>& hunks) {
  const Entry& entry = proposal_.entries[index];
  if (!entry.pending()) return {};
  if (entry.obstacle != Obstacle::kNone) {
    outcome_.unappliable.push_back(entry.path);
    if (is_regular(entry.after) && entry.after->size != 0) left_out_.emplace(entry.after->size, entry.path);
    // A change like any other, only that no rename leads there: to leave it out without a word would be half of it.
    if (entry.obstacle == Obstacle::kMount) {
      outcome_.problems.push_back({entry.path, ProblemKind::kCannotBeDone, std::string(to_string(entry.obstacle))});
    }
    return {};
  }
  Note note{index, {}};
  CLOCHE_TRY_ASSIGN(Target target, target_of(index, hunks, note));
  const EntryFolders folders = folders_now(root_, entry);
  const Found found = compare(root_, proposal_, index);
  if (found.standing == Standing::kThere) note.part.reset();
  // A part that was written before a crash kept it from being noted is there, too.
  const bool seen = found.standing != Standing::kCannotBeSeen;
  if (found.standing == Standing::kThere || (seen && target.text && tree::agree(found.present, target.state))) {
    ++outcome_.there;
    notes_.push_back(std::move(note));
    return {};
  }
  check_protected(index);
  if (found.standing != Standing::kClean) {
    CLOCHE_TRY_ASSIGN(const bool resolved, resolve(entry, found, target));
    if (!resolved) return {};
  }
  add_change(entry, found, folders, std::move(target));
  notes_.push_back(std::move(note));
  return {};
}

Result<Target> Application::target_of(std::size_t index, const std::optional<std::vector<std::size_t>>& hunks,
                                      Note& note) const {
  const Entry& entry = proposal_.entries[index];
  if (!hunks) return Target{entry.after, {}, false};
  const std::string step = tree::printable(entry.path);
  if (!is_regular(entry.before) || !is_regular(entry.after)) {
    return fail(ErrorCode::kInvalidInput, step, "only a file that was changed has hunks", "select it as a whole");
  }
  CLOCHE_TRY_ASSIGN(const std::optional<Texts> texts, texts_of(directory_, root_, entry));
  if (!texts) return fail(ErrorCode::kInvalidInput, step, "it is no text and has no hunks", "select it as a whole");
  const auto all = diff::diff_lines(texts->before, texts->after);
  const std::size_t most = hunks->empty() ? 0 : *std::ranges::max_element(*hunks) + 1;
  if (most > all.size()) {
    return fail(ErrorCode::kInvalidInput, step,
                "it has " + std::to_string(all.size()) + " hunks, and not " + std::to_string(most),
                "cloche diff shows them in order");
  }
  CLOCHE_TRY_ASSIGN(std::string text, diff::apply_hunks(texts->before, all, *hunks));
  if (text == texts->after) return Target{entry.after, {}, false};
  Target target{tree::regular_state(text, entry.before->mode), text, false};
  note.part = std::move(text);
  return target;
}

// True: the change goes on, perhaps with another target.
Result<bool> Application::resolve(const Entry& entry, const Found& found, Target& target) {
  const auto problem = [&](ProblemKind kind, std::string reason) {
    outcome_.problems.push_back({entry.path, kind, std::move(reason)});
    return false;
  };
  if (found.standing == Standing::kCannotBeSeen) return problem(ProblemKind::kCannotBeDone, found.reason);
  if ((options_.three_way || options_.force) && merge_modes(entry, found, target)) return true;
  if (options_.three_way && found.standing == Standing::kConflict) {
    CLOCHE_TRY_ASSIGN(std::optional<diff::Merge> merged, merge(entry, found, target));
    if (merged && (merged->conflicts == 0 || options_.markers)) {
      // Whoever of the two changed the mode has the say; the guest, if both did.
      const mode_t mode = target.state->mode == entry.before->mode ? found.present->mode : target.state->mode;
      target.state = tree::regular_state(merged->text, mode);
      target.text = std::move(merged->text);
      outcome_.merged.push_back(entry.path);
      return true;
    }
    if (merged && !options_.force) {
      return problem(ProblemKind::kMerge, "both sides changed the same lines in " + std::to_string(merged->conflicts) +
                                              (merged->conflicts == 1 ? " place" : " places"));
    }
  }
  if (!options_.force) return problem(ProblemKind::kConflict, found.reason);
  outcome_.forced.push_back(entry.path);
  return true;
}

// Where one side changed the mode alone and the other one the bytes, both have their way, whatever the bytes are.
bool Application::merge_modes(const Entry& entry, const Found& found, Target& target) {
  if (found.standing != Standing::kConflict) return false;
  if (!is_regular(entry.before) || !is_regular(target.state) || !is_regular(found.present)) return false;
  if (files::kind_of(entry) == ChangeKind::kMode) {
    const mode_t mode = target.state->mode;
    target = {found.present, {}, true};
    target.state->mode = mode;
  } else if (found.present->digest == entry.before->digest && target.state->mode == entry.before->mode) {
    target.state->mode = found.present->mode;
  } else {
    return false;
  }
  outcome_.merged.push_back(entry.path);
  return true;
}

Result<std::optional<diff::Merge>> Application::merge(const Entry& entry, const Found& found,
                                                      const Target& target) const {
  if (!entry.has(kBaseKept) || !is_regular(entry.before) || !is_regular(target.state) || !is_regular(found.present)) {
    return std::nullopt;
  }
  CLOCHE_TRY_ASSIGN(const std::optional<Texts> texts, texts_of(directory_, root_, entry));
  CLOCHE_TRY_ASSIGN(const std::optional<std::string> ours, present_text(entry, found));
  if (!texts || !ours) return std::nullopt;
  return diff::merge_lines(texts->before, *ours, target.text ? *target.text : texts->after, {"host", "guest"});
}

// What is there now, if it is text: the very bytes that were compared.
Result<std::optional<std::string>> Application::present_text(const Entry& entry, const Found& found) const {
  Entry as_gone{entry.path, found.present, {}, Obstacle::kNone, 0};
  CLOCHE_TRY_ASSIGN(std::optional<Texts> texts, texts_of(directory_, root_, as_gone));
  if (!texts) return std::nullopt;
  return std::move(texts->before);
}

void Application::check_protected(std::size_t index) {
  const Entry& entry = proposal_.entries[index];
  const std::optional<std::string>& reason = protected_[index];
  if (!reason || options_.all_protected) return;
  const bool granted =
      std::ranges::any_of(options_.granted, [&](const std::string& path) { return lies_in(entry.path, path); });
  if (!granted) outcome_.problems.push_back({entry.path, ProblemKind::kProtected, *reason});
}

void Application::add_change(const Entry& entry, const Found& found, const EntryFolders& folders, Target target) {
  // With force: what shall go and is gone.
  if (!found.present && !target.state) return;
  tree::Change change{entry.path, found.present, std::move(target.state), {}};
  if (is_regular(change.after)) {
    if (target.keeps_bytes) {
      change.content = std::monostate();
    } else if (target.text) {
      change.content = std::move(*target.text);
    } else {
      change.content = tree::FileIn{directory_, "blobs/" + sys::to_hex(change.after->digest)};
    }
  }
  change.folder = folders.above;
  change.itself = folders.itself;
  const std::uint32_t keep = proposal_.keep & options_.keep;
  if (is_regular(change.after)) {
    change.keep.privileges = (keep & kKeepSetId) != 0 && is_regular(change.before);
    if ((keep & kKeepXattrs) != 0) change.keep.attributes = entry.attributes;
  }
  changes_.push_back(std::move(change));
}

// A file that went to where it cannot be applied would be lost if the half that can be was. What cannot be applied was
// perhaps never read, so its size has to tell.
void Application::keep_what_may_have_moved() {
  for (const tree::Change& change : changes_) {
    if (change.after || !is_regular(change.before)) continue;
    const auto found = left_out_.find(change.before->size);
    if (found == left_out_.end()) continue;
    outcome_.problems.push_back({change.path, ProblemKind::kCannotBeDone,
                                 "it may have become " + tree::printable(found->second) +
                                     ", which cannot be applied; name it as a path to delete it"});
  }
}

Status Application::carry_out() {
  tree::Options options;
  // Each was held against the grants above.
  options.allow_protected = true;
  options.progress = options_.progress;
  options.cancelled = options_.cancelled;
  options.key = options_.key;
  std::vector<tree::Conflict> conflicts;
  if (!outcome_.problems.empty() || options_.dry_run) {
    // The others are found as well, so that one look shows them all.
    CLOCHE_TRY_ASSIGN(tree::Checked checked, tree::check(root_, changes_, options));
    conflicts = std::move(checked.conflicts);
  } else if (changes_.empty()) {
    outcome_.applied = true;
  } else {
    CLOCHE_TRY_ASSIGN(tree::Applied applied, tree::apply(root_, changes_, options));
    outcome_.applied = applied.applied;
    conflicts = std::move(applied.conflicts);
  }
  for (const tree::Conflict& conflict : conflicts) {
    if (conflict.kind == tree::ConflictKind::kProtected) continue;
    const bool changed = conflict.kind == tree::ConflictKind::kChanged;
    outcome_.problems.push_back({conflict.path, changed ? ProblemKind::kConflict : ProblemKind::kCannotBeDone,
                                 changed ? "changed on the host just now" : conflict.reason});
  }
  for (const tree::Change& change : changes_) {
    ++(!change.before ? outcome_.added : !change.after ? outcome_.deleted : outcome_.modified);
  }
  return {};
}

Status Application::take_notes() {
  Meter meter({});
  CLOCHE_TRY_ASSIGN(Blobs blobs, Blobs::open(directory_, meter));
  bool any_part = false;
  for (const Note& note : notes_) {
    Entry& entry = proposal_.entries[note.index];
    if (!note.part) {
      entry.marks |= kApplied;
      continue;
    }
    entry.before = tree::regular_state(*note.part, entry.before->mode);
    entry.marks |= kBaseKept;
    CLOCHE_TRY(blobs.keep_text(*note.part, entry.before->digest));
    any_part = true;
  }
  if (any_part) CLOCHE_TRY(blobs.settle());
  learn_folders(root_, proposal_);
  return save(directory_, proposal_);
}

}  // namespace

std::string_view to_string(ProblemKind kind) {
  switch (kind) {
    case ProblemKind::kConflict:
      return "conflict";
    case ProblemKind::kMerge:
      return "merge conflict";
    case ProblemKind::kProtected:
      return "protected";
    case ProblemKind::kCannotBeDone:
      return "cannot be done";
  }
  return "";
}

Result<Outcome> apply(int root, int directory, Proposal& proposal, const Selection& selection,
                      const ApplyOptions& options) {
  return Application(root, directory, proposal, options).run(selection);
}

}  // namespace cloche::files
