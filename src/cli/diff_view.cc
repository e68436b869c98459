#include "cli/diff_view.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "diff/hunks.h"
#include "diff/quote.h"
#include "diff/stat.h"
#include "diff/unified.h"
#include "report/paint.h"
#include "report/text.h"

namespace cloche::cli {
namespace {

using files::ChangeKind;
using files::Entry;
using tree::FileKind;
using tree::FileState;

std::string mode_text(mode_t mode) { return fmt::format("{:04o}", mode); }

FileKind kind_after(const Entry& entry) { return entry.after ? entry.after->kind : entry.before->kind; }

std::string state_text(const FileState& state) {
  switch (state.kind) {
    case FileKind::kRegular:
      return fmt::format("{}, sha256 {}", human(Bytes{state.size}), sys::to_hex(state.digest).substr(0, 16));
    case FileKind::kDirectory:
      return "a directory";
    case FileKind::kSymlink:
      return "a link to " + diff::quote_path(state.target);
    case FileKind::kOther:
      return "no file";
  }
  return {};
}

Hue hue_of_change(const Entry& entry) {
  const ChangeKind kind = files::kind_of(entry);
  return kind == ChangeKind::kAdded ? Hue::kGreen : kind == ChangeKind::kDeleted ? Hue::kRed : Hue::kYellow;
}

std::vector<std::string> facts_of(const ShownEntry& shown) {
  const Entry& entry = *shown.entry;
  const Entry& old = shown.from != nullptr ? *shown.from : entry;
  std::vector<std::string> facts;
  if (files::kind_of(entry) == ChangeKind::kType) {
    // The modes of two kinds say nothing to each other: a link's is always 0777, and a directory's x is another right.
    if (const FileKind kind = kind_after(entry); kind == FileKind::kRegular || kind == FileKind::kDirectory) {
      facts.push_back(fmt::format("mode {}", mode_text(entry.after->mode)));
    }
  } else if (old.before && entry.after && old.before->mode != entry.after->mode &&
             kind_after(entry) != FileKind::kSymlink && old.before->kind != FileKind::kSymlink) {
    facts.push_back(fmt::format("mode {} → {}", mode_text(old.before->mode), mode_text(entry.after->mode)));
  } else if (!old.before && entry.after && (entry.after->mode & 0111) != 0 && entry.after->kind == FileKind::kRegular) {
    facts.push_back(fmt::format("mode {}", mode_text(entry.after->mode)));
  }
  if (old.before && old.before->links > 1 && entry.after) facts.emplace_back("its other names keep the old content");
  return facts;
}

std::string join_marks(const std::vector<std::string>& marks) {
  std::string out;
  for (const std::string& mark : marks) out += (out.empty() ? "" : "; ") + mark;
  return out;
}

// What a difference of lines cannot say: kinds, links, binaries and empty files.
std::string states_text(const ShownEntry& shown) {
  const Entry& entry = *shown.entry;
  if (files::kind_of(entry) == ChangeKind::kMode || shown.from != nullptr) return {};
  const bool only_folders = (!entry.before || entry.before->kind == FileKind::kDirectory) &&
                            (!entry.after || entry.after->kind == FileKind::kDirectory);
  if (only_folders) return {};
  std::string out;
  if (entry.before) out += fmt::format("  before: {}\n", state_text(*entry.before));
  if (entry.after && entry.obstacle == files::Obstacle::kNone)
    out += fmt::format("  after:  {}\n", state_text(*entry.after));
  return out;
}

diff::FileChange file_change(const Entry& entry) {
  return !entry.before  ? diff::FileChange::kAdded
         : !entry.after ? diff::FileChange::kDeleted
                        : diff::FileChange::kModified;
}

void write_state(JsonWriter& json, std::string_view name, const std::optional<FileState>& state) {
  json.name(name);
  if (!state) {
    json.null();
    return;
  }
  json.begin_object();
  json.member("kind", tree::to_string(state->kind));
  json.member("mode", mode_text(state->mode));
  if (state->kind == FileKind::kRegular) {
    json.member("size", state->size);
    json.member("sha256", sys::to_hex(state->digest));
  }
  if (state->kind == FileKind::kSymlink) json.member("target", diff::quote_path(state->target));
  json.end_object();
}

}  // namespace

ShownWorkspace look_at(const Workspace& workspace, const files::Selection& selection) {
  const files::Proposal& proposal = workspace.proposal;
  std::map<std::size_t, std::size_t> from;
  std::set<std::size_t> shown_elsewhere;
  for (const files::Rename& rename : files::find_renames(proposal)) {
    if (!selection.contains(rename.from) || !selection.contains(rename.to)) continue;
    from[rename.to] = rename.from;
    shown_elsewhere.insert(rename.from);
  }
  // Of the whole proposal: what is shown of it is no word about what will be applied.
  const auto reasons = files::why_protected(workspace.root.get(), proposal);
  ShownWorkspace shown{&workspace, {}};
  for (const auto& [index, hunks] : selection) {
    if (shown_elsewhere.contains(index)) continue;
    ShownEntry one{&proposal.entries[index], nullptr, {}, reasons[index]};
    if (workspace.root.valid()) one.found = files::compare(workspace.root.get(), proposal, index);
    if (const auto old = from.find(index); old != from.end()) {
      one.from = &proposal.entries[old->second];
      one.why_from_protected = reasons[old->second];
      // The side that stands worse is the one to be told of.
      if (workspace.root.valid() && one.found.standing <= files::Standing::kThere) {
        one.found = files::compare(workspace.root.get(), proposal, old->second);
      }
    }
    shown.entries.push_back(std::move(one));
  }
  return shown;
}

std::vector<std::string> marks_of(const ShownEntry& shown) {
  std::vector<std::string> marks;
  const Entry& entry = *shown.entry;
  for (const auto& why : {shown.why_protected, shown.why_from_protected}) {
    if (why) marks.push_back("protected: " + *why);
  }
  if (entry.obstacle != files::Obstacle::kNone) {
    marks.push_back("cannot be applied: " + std::string(to_string(entry.obstacle)));
  } else if (shown.found.standing == files::Standing::kThere) {
    marks.emplace_back("already so on the host");
  } else if (shown.found.standing != files::Standing::kClean) {
    marks.push_back("conflict: " + shown.found.reason);
  }
  if (entry.has(files::kSpecialBits)) marks.emplace_back("set-uid, set-gid or sticky dropped");
  if (entry.has(files::kKeptAttributes)) {
    marks.emplace_back("extended attributes: --keep xattrs applies those of users");
  } else if (entry.has(files::kAttributes)) {
    marks.emplace_back("extended attributes dropped");
  }
  if (entry.has(files::kHostPrivileges))
    marks.emplace_back("the host's set-id bits or capabilities are dropped without --keep setid");
  return marks;
}

std::string title_of(const ShownEntry& shown, Colour colour) {
  const Entry& entry = *shown.entry;
  const std::string word = shown.from != nullptr ? "renamed" : std::string(to_string(files::kind_of(entry)));
  std::string out = paint(word, hue_of_change(entry), colour) + " ";
  if (shown.from != nullptr) out += diff::quote_path(shown.from->path) + " → ";
  out += diff::quote_path(entry.path) + (kind_after(entry) == FileKind::kDirectory ? "/" : "");
  if (const std::string facts = join_marks(facts_of(shown)); !facts.empty()) out += fmt::format(" ({})", facts);
  if (const std::string marks = join_marks(marks_of(shown)); !marks.empty()) {
    out += " " + paint(fmt::format("[{}]", printable(marks)), Hue::kRed, colour);
  }
  return out;
}

Result<std::string> diff_of(const Workspace& workspace, const ShownEntry& shown, const DiffOptions& options) {
  const Entry& entry = *shown.entry;
  std::string out = title_of(shown, options.colour) + "\n";
  if (shown.from != nullptr || files::kind_of(entry) == ChangeKind::kMode) return out;
  CLOCHE_TRY_ASSIGN(const std::optional<files::Texts> texts,
                    files::texts_of(workspace.directory.get(), workspace.root.get(), entry));
  if (!texts) return out + states_text(shown);
  const auto hunks = diff::diff_lines(texts->before, texts->after);
  diff::UnifiedOptions unified;
  unified.change = file_change(entry);
  if (files::kind_of(entry) == ChangeKind::kType) {
    if (hunks.empty()) return out + states_text(shown);
    out += fmt::format("  before: {}\n", state_text(*entry.before));
    unified.change = diff::FileChange::kAdded;
  }
  unified.showing = options.terminal ? diff::Showing::kHarmless : diff::Showing::kExact;
  if (options.colour == Colour::kAlways) unified.paint = diff::terminal_paint();
  return out + diff::unified(entry.path, hunks, unified);
}

Result<std::string> stat_of(const ShownWorkspace& shown, const DiffOptions& options) {
  std::vector<diff::FileStat> stats;
  for (const ShownEntry& one : shown.entries) {
    const Entry& entry = *one.entry;
    diff::FileStat stat{entry.path, {}};
    if (one.from != nullptr) stat.path = one.from->path + " => " + entry.path;
    if (one.from != nullptr || files::kind_of(entry) == ChangeKind::kMode ||
        kind_after(entry) == FileKind::kDirectory) {
      stat.stat = diff::Stat{};
    } else {
      CLOCHE_TRY_ASSIGN(const std::optional<files::Texts> texts,
                        files::texts_of(shown.workspace->directory.get(), shown.workspace->root.get(), entry));
      if (texts) stat.stat = diff::count_lines(diff::diff_lines(texts->before, texts->after, 0));
    }
    stats.push_back(std::move(stat));
  }
  diff::StatOptions how{options.columns, {}};
  if (options.colour == Colour::kAlways) how.paint = diff::terminal_paint();
  return diff::stat_text(stats, how);
}

Status write_json(JsonWriter& json, const ShownWorkspace& shown) {
  json.begin_object();
  json.member("workspace", diff::quote_path(shown.workspace->proposal.root));
  json.name("changes").begin_array();
  for (const ShownEntry& one : shown.entries) {
    const Entry& entry = *one.entry;
    json.begin_object();
    json.member("path", diff::quote_path(entry.path));
    json.member("change", one.from != nullptr ? "renamed" : to_string(files::kind_of(entry)));
    if (one.from != nullptr) json.member("from", diff::quote_path(one.from->path));
    write_state(json, "before", one.from != nullptr ? one.from->before : entry.before);
    write_state(json, "after", entry.after);
    json.member("conflict", one.found.standing > files::Standing::kThere);
    json.member("appliable", entry.obstacle == files::Obstacle::kNone);
    json.member("protected", one.why_protected.has_value());
    json.strings("marks", marks_of(one));
    if (one.from == nullptr && kind_after(entry) == FileKind::kRegular) {
      CLOCHE_TRY_ASSIGN(const std::optional<files::Texts> texts,
                        files::texts_of(shown.workspace->directory.get(), shown.workspace->root.get(), entry));
      if (texts) {
        const diff::Stat stat = diff::count_lines(diff::diff_lines(texts->before, texts->after, 0));
        json.member("lines_added", stat.added);
        json.member("lines_removed", stat.removed);
      }
    }
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return {};
}

}  // namespace cloche::cli
