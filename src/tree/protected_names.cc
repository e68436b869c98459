#include "tree/protected_names.h"

#include <algorithm>
#include <span>

#include "tree/file_names.h"
#include "tree/protected_rules.h"

namespace cloche::tree {
namespace {

enum class Match { kNone, kBeginning, kWhole };

// Whether the rule's names up to this step are the last ones of the way and `name`.
Match match(const RuleStep& step, const NamesAbove& above) {
  const ProtectedRule& rule = protected_rules()[step.rule];
  for (std::size_t back = 0; back < step.position; ++back) {
    if (above.last.at(back) != rule.names.at(step.position - 1 - back)) return Match::kNone;
  }
  return step.position + 1 == rule.length() ? Match::kWhole : Match::kBeginning;
}

NamesAbove enter(const NamesAbove& above, std::string name) {
  NamesAbove inside = above;
  for (const RuleStep& step : rules_with(name)) {
    const bool below = protected_rules()[step.rule].reach == Reach::kBelow;
    if (below && match(step, above) == Match::kWhole) inside.rule = std::min(inside.rule, step.rule);
  }
  inside.in_hooks = above.in_hooks || (above.in_git && name == "hooks");
  inside.in_sequencer = above.in_sequencer || (above.in_git && is_git_sequencer(name));
  inside.in_git = above.in_git || name == ".git";
  inside.last = {std::move(name), above.last[0]};
  return inside;
}

// Everything below a .git: repositories of submodules and worktrees keep their settings deeper down.
std::optional<std::string> why_git(const NamesAbove& above, std::string_view name, FileKind kind) {
  if (!above.in_git) {
    if (name != ".git" || kind == FileKind::kDirectory) return std::nullopt;
    return "it tells git which repository, and so whose hooks and settings, to use";
  }
  if (above.in_hooks || name == "hooks") return "git runs it";
  if (above.in_sequencer || is_git_sequencer(name)) return std::string(kSequencer);
  if (name == "config" || name == "config.worktree") return "git runs commands that it names";
  if (name == "gitdir" || name == "commondir" || (kind == FileKind::kSymlink && name != "head")) {
    return "it leads git to other hooks and settings";
  }
  return std::nullopt;
}

std::optional<std::string> why_rule(const NamesAbove& above, std::string_view name, FileKind kind) {
  std::size_t first = above.rule;
  for (const RuleStep& step : rules_with(name)) {
    const Match found = match(step, above);
    // A link in place of .vscode leads an editor to tasks of another name.
    const bool counts = found == Match::kWhole || (found == Match::kBeginning && kind == FileKind::kSymlink);
    if (counts) first = std::min(first, step.rule);
  }
  if (first == NamesAbove::kNoRule) return std::nullopt;
  return std::string(protected_rules()[first].reason);
}

// Python runs lines of every .pth in a directory of packages when it starts, in .local/lib as in a virtual environment.
// The ending alone says nothing: models have it, too.
bool is_of_python(const NamesAbove& above, std::string_view name, FileKind kind) {
  const auto has_packages = [](std::string_view folder) {
    return folder == "site-packages" || folder == "dist-packages";
  };
  if (kind == FileKind::kDirectory) return false;
  if (has_packages(above.last[0]) && name.ends_with(".pth")) return true;
  // A link on the way leads to others.
  return kind == FileKind::kSymlink && (has_packages(name) || (above.last[0] == "lib" && name.starts_with("python3")) ||
                                        (above.last[0] == ".local" && name == "lib"));
}

NamesAbove all_of(std::span<const std::string> names) {
  NamesAbove above;
  for (const std::string& name : names) above = enter(above, name);
  return above;
}

}  // namespace

Above above_of(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  if (path.empty()) return {};
  Above above{plain_components(path), {}};
  const std::span<const std::string> names = above.names;
  above.reason = why_git(all_of(names.first(names.size() - 1)), names.back(), FileKind::kDirectory);
  if (above.reason) return above;
  if (const std::size_t rule = all_of(names).rule; rule != NamesAbove::kNoRule) {
    above.reason = std::string(protected_rules()[rule].reason);
    return above;
  }
  // A rule that begins earlier would have ended by now, but for what is below a .git.
  const auto longest = static_cast<std::ptrdiff_t>(ProtectedRule{}.names.size()) - 1;
  const auto git = std::ranges::find(above.names, ".git");
  const auto last = above.names.end() - std::min(longest, std::ssize(above.names));
  above.names.erase(above.names.begin(), std::min(git, last));
  return above;
}

NameJudge::NameJudge(const Above& above) : everything_(above.reason), walk_(all_of(above.names)) {}

std::optional<std::string> NameJudge::why(std::string_view path, FileKind kind) {
  if (everything_) return everything_;
  const auto inside = [](std::span<const NamesAbove> way, std::string_view, std::string_view name) {
    return enter(way.back(), plain_name(name));
  };
  const NamesAbove& above = walk_.to(path, inside).back();
  const std::string name = plain_name(last_name(path));
  if (auto reason = why_git(above, name, kind)) return reason;
  if (auto reason = why_rule(above, name, kind)) return reason;
  if (is_of_python(above, name, kind)) return "Python runs lines of it when it starts";
  // Projects of editors, under any name.
  for (const std::string_view ending : {".code-workspace", ".sublime-project"}) {
    if (name.ends_with(ending)) return "editors run code that it names";
  }
  return std::nullopt;
}

std::optional<std::string> why_protected(std::string_view path, FileKind kind, const Above& above) {
  return NameJudge(above).why(path, kind);
}

}  // namespace cloche::tree
