#include "tree/protected_names.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include "tree/file_names.h"
#include "tree/protected_rules.h"

namespace cloche::tree {
namespace {

using Names = std::vector<std::string>;

// Whether the rule matches with its first name at `at`.
bool matches(const ProtectedRule& rule, const Names& names, std::size_t at, FileKind kind) {
  const std::size_t whole = rule.length();
  const std::size_t shared = std::min(whole, names.size() - at);
  for (std::size_t i = 0; i < shared; ++i) {
    if (names[at + i] != rule.names[i]) return false;
  }
  // A link in place of .vscode leads an editor to tasks of another name.
  if (shared < whole) return kind == FileKind::kSymlink && at + shared == names.size();
  return rule.reach == Reach::kBelow || at + whole == names.size();
}

// Everything below a .git: repositories of submodules and worktrees keep their settings deeper down.
std::optional<std::string> why_git(const Names& names, FileKind kind) {
  const auto git = std::ranges::find(names, ".git");
  if (git == names.end()) return std::nullopt;
  if (git + 1 == names.end()) {
    if (kind == FileKind::kDirectory) return std::nullopt;
    return "it tells git which repository, and so whose hooks and settings, to use";
  }
  const std::span<const std::string> below(git + 1, names.end());
  if (std::ranges::find(below, "hooks") != below.end()) return "git runs it";
  const std::string& last = below.back();
  if (last == "config" || last == "config.worktree") return "git runs commands that it names";
  if (last == "gitdir" || last == "commondir" || (kind == FileKind::kSymlink && last != "head")) {
    return "it leads git to other hooks and settings";
  }
  return std::nullopt;
}

}  // namespace

Above above_of(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  if (path.empty()) return {};
  Above above{plain_components(path), {}};
  above.reason = why_git(above.names, FileKind::kDirectory);
  for (const ProtectedRule& rule : protected_rules()) {
    if (above.reason) return above;
    if (rule.reach != Reach::kBelow) continue;
    for (std::size_t at = 0; at < above.names.size() && !above.reason; ++at) {
      if (matches(rule, above.names, at, FileKind::kDirectory)) above.reason = std::string(rule.reason);
    }
  }
  // A rule that begins earlier would have ended by now, but for what is below a .git.
  const auto longest = static_cast<std::ptrdiff_t>(ProtectedRule{}.names.size()) - 1;
  const auto git = std::ranges::find(above.names, ".git");
  const auto last = above.names.end() - std::min(longest, std::ssize(above.names));
  above.names.erase(above.names.begin(), std::min(git, last));
  return above;
}

std::optional<std::string> why_protected(std::string_view path, FileKind kind, const Above& above) {
  if (above.reason) return above.reason;
  Names names = above.names;
  Names own = plain_components(path);
  names.insert(names.end(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
  if (auto reason = why_git(names, kind)) return reason;
  for (const ProtectedRule& rule : protected_rules()) {
    for (std::size_t at = 0; at < names.size(); ++at) {
      if (matches(rule, names, at, kind)) return std::string(rule.reason);
    }
  }
  // Projects of editors, under any name.
  for (const std::string_view ending : {".code-workspace", ".sublime-project"}) {
    if (!names.empty() && names.back().ends_with(ending)) return "editors run code that it names";
  }
  return std::nullopt;
}

}  // namespace cloche::tree
