#include "files/selection.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "diff/content.h"
#include "tree/inspect.h"
#include "tree/path_rules.h"
#include "tree/place.h"

namespace cloche::files {
namespace {

using tree::FileKind;

std::unexpected<Error> wrong(std::string_view typed, std::string message, std::string hint) {
  return fail(ErrorCode::kInvalidInput, tree::printable(typed), std::move(message), std::move(hint));
}

bool is_regular(const std::optional<tree::FileState>& state) { return state && state->kind == FileKind::kRegular; }

bool is_text_sized(const std::optional<tree::FileState>& state) {
  return !is_regular(state) || state->size <= diff::ContentLimits{}.bytes;
}

bool is_text(std::string_view bytes) { return diff::judge_content(bytes) == diff::Content::kText; }

// The host's file, if it still is what it was. A file that somebody is writing to is not.
std::optional<std::string> present_text(int root, const Entry& entry) {
  const auto place = tree::open_beneath(root, entry.path, O_PATH, tree::Mounts::kCross);
  if (!place) return std::nullopt;
  const auto file = tree::reopen_regular(place->get(), entry.path);
  if (!file) return std::nullopt;
  std::string bytes(entry.before->size, '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t n = ::read(file->get(), bytes.data() + have, bytes.size() - have);
    if (n <= 0) return std::nullopt;
    have += static_cast<std::size_t>(n);
  }
  if (sys::sha256(bytes) != entry.before->digest) return std::nullopt;
  return bytes;
}

struct Range {
  std::size_t first = 0;
  std::size_t last = 0;
};

std::optional<Range> parse_range(std::string_view text) {
  const auto number = [](std::string_view digits) -> std::optional<std::size_t> {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value == 0 || value > 1'000'000) {
      return std::nullopt;
    }
    return value;
  };
  const std::size_t dash = text.find('-');
  const auto first = number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : number(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return Range{*first - 1, *last - 1};
}

std::size_t find_entry(const Proposal& proposal, const std::string& path) {
  const auto found = std::ranges::lower_bound(proposal.entries, path, {}, &Entry::path);
  const bool exact = found != proposal.entries.end() && found->path == path && found->pending();
  return exact ? static_cast<std::size_t>(found - proposal.entries.begin()) : proposal.entries.size();
}

}  // namespace

Selection select_all(const Proposal& proposal) {
  Selection selection;
  for (std::size_t i = 0; i < proposal.entries.size(); ++i) {
    if (proposal.entries[i].pending()) selection.emplace_hint(selection.end(), i, std::nullopt);
  }
  return selection;
}

std::optional<std::string> path_in(const Proposal& proposal, std::string_view typed) {
  std::string_view rest = typed;
  if (rest.starts_with('/')) {
    if (!rest.starts_with(proposal.root)) return std::nullopt;
    rest.remove_prefix(proposal.root.size());
    if (!rest.empty() && !rest.starts_with('/') && !proposal.root.ends_with('/')) return std::nullopt;
  }
  std::string path;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (name == "..") return std::nullopt;
    if (name.empty() || name == ".") continue;
    if (!path.empty()) path += '/';
    path += name;
  }
  return path;
}

Result<Selection> select_paths(const Proposal& proposal, std::span<const std::string> typed) {
  Selection selection;
  for (const std::string& each : typed) {
    // An unset variable of a script's is not a word for everything.
    if (each.empty()) return wrong(each, "a path is empty", "write . for the whole workspace, or leave it out");
    const auto path = path_in(proposal, each);
    if (!path)
      return wrong(each, "it does not lie in the workspace", "name paths below " + tree::printable(proposal.root));
    bool any = false;
    // "a" is followed by "a.b" before "a/b" comes: two stretches.
    if (const std::size_t exact = find_entry(proposal, *path); exact < proposal.entries.size()) {
      selection.insert_or_assign(exact, std::nullopt);
      any = true;
    }
    const std::string prefix = path->empty() ? "" : *path + "/";
    auto below = std::ranges::lower_bound(proposal.entries, prefix, {}, &Entry::path);
    for (; below != proposal.entries.end() && below->path.starts_with(prefix); ++below) {
      if (!below->pending()) continue;
      selection.insert_or_assign(static_cast<std::size_t>(below - proposal.entries.begin()), std::nullopt);
      any = true;
    }
    if (!any)
      return wrong(each, "the guest changed nothing there that is still to be applied",
                   "cloche diff lists what it changed");
  }
  return selection;
}

Status select_hunks(const Proposal& proposal, std::string_view typed, Selection& selection) {
  const std::size_t colon = typed.rfind(':');
  if (colon == std::string_view::npos) return wrong(typed, "no hunks are named", "write PATH:1,3-5");
  const auto path = path_in(proposal, typed.substr(0, colon));
  const std::size_t index = path ? find_entry(proposal, *path) : proposal.entries.size();
  if (index == proposal.entries.size()) {
    return wrong(typed, "the guest changed no such file", "cloche diff --name-only lists what it changed");
  }
  std::vector<std::size_t> hunks;
  std::string_view rest = typed.substr(colon + 1);
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    const auto range = parse_range(rest.substr(0, comma));
    if (!range) return wrong(typed, "these are no numbers of hunks", "write PATH:1,3-5; the first hunk is 1");
    for (std::size_t i = range->first; i <= range->last; ++i) hunks.push_back(i);
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
  }
  selection.insert_or_assign(index, std::move(hunks));
  return {};
}

void add_parents(const Proposal& proposal, Selection& selection) {
  std::vector<std::size_t> parents;
  for (const auto& [index, hunks] : selection) {
    const Entry& entry = proposal.entries[index];
    if (!entry.after) continue;
    for (std::size_t slash = entry.path.find('/'); slash != std::string::npos;
         slash = entry.path.find('/', slash + 1)) {
      const std::size_t parent = find_entry(proposal, entry.path.substr(0, slash));
      if (parent == proposal.entries.size()) continue;
      const ChangeKind kind = kind_of(proposal.entries[parent]);
      if (kind == ChangeKind::kAdded || kind == ChangeKind::kType) parents.push_back(parent);
    }
  }
  for (const std::size_t parent : parents) selection.try_emplace(parent, std::nullopt);
}

Result<std::optional<Texts>> texts_of(int directory, int root, const Entry& entry) {
  const bool is_kept = entry.obstacle == Obstacle::kNone || entry.obstacle == Obstacle::kMount;
  if (!is_kept || !is_text_sized(entry.before) || !is_text_sized(entry.after)) {
    return std::nullopt;
  }
  // What was a link or a directory has no text, and what becomes of it is new from the first line to the last.
  const bool was_file = is_regular(entry.before);
  const bool is_file = is_regular(entry.after);
  if (!is_file && (entry.after || !was_file)) return std::nullopt;
  Texts texts;
  if (is_file) {
    CLOCHE_TRY_ASSIGN(texts.after, read_blob(directory, *entry.after));
  }
  if (was_file && entry.has(kBaseKept)) {
    CLOCHE_TRY_ASSIGN(texts.before, read_blob(directory, *entry.before));
  } else if (was_file && is_file && entry.before->digest == entry.after->digest) {
    texts.before = texts.after;
  } else if (was_file) {
    auto present = root < 0 ? std::nullopt : present_text(root, entry);
    if (!present) return std::nullopt;
    texts.before = std::move(*present);
  }
  if (!is_text(texts.before) || !is_text(texts.after)) return std::nullopt;
  return texts;
}

}  // namespace cloche::files
