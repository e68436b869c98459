#include "tree/protected_names.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "tree/file_names.h"

namespace cloche::tree {
namespace {

enum class Reach {
  kItself,  // the file of this name
  kBelow,   // and everything below it
};

// A protected path of one to three plain names, wherever in the tree it begins.
struct Rule {
  std::array<std::string_view, 3> names;
  Reach reach;
  std::string_view reason;
};

constexpr std::string_view kShell = "shells run it when they start";
constexpr std::string_view kEditor = "editors run code that it names";
constexpr std::string_view kDirenv = "direnv runs it in every shell that enters the directory";
constexpr std::string_view kKeys = "it holds or directs keys and passwords";
constexpr std::string_view kPackages = "it tells a package manager where to send passwords and what to run";
constexpr std::string_view kCron = "the system runs the commands in it";
constexpr std::string_view kGit = "git runs commands that it names";
constexpr std::string_view kContainer = "editors build and run what it describes when they open the directory";
constexpr std::string_view kLogin = "desktops run it at login";

constexpr Rule kRules[] = {
    {{".bashrc"}, Reach::kItself, kShell},
    {{".bash_profile"}, Reach::kItself, kShell},
    {{".bash_login"}, Reach::kItself, kShell},
    {{".bash_logout"}, Reach::kItself, kShell},
    {{".bash_aliases"}, Reach::kItself, kShell},
    {{".profile"}, Reach::kItself, kShell},
    {{".zshrc"}, Reach::kItself, kShell},
    {{".zshenv"}, Reach::kItself, kShell},
    {{".zprofile"}, Reach::kItself, kShell},
    {{".zlogin"}, Reach::kItself, kShell},
    {{".zlogout"}, Reach::kItself, kShell},
    {{".kshrc"}, Reach::kItself, kShell},
    {{".mkshrc"}, Reach::kItself, kShell},
    {{".cshrc"}, Reach::kItself, kShell},
    {{".tcshrc"}, Reach::kItself, kShell},
    {{".login"}, Reach::kItself, kShell},
    {{".inputrc"}, Reach::kItself, kShell},
    {{"config.fish"}, Reach::kItself, kShell},
    {{".config", "fish", "conf.d"}, Reach::kBelow, kShell},
    {{".envrc"}, Reach::kItself, kDirenv},
    {{".direnvrc"}, Reach::kItself, kDirenv},
    {{".config", "direnv"}, Reach::kBelow, kDirenv},
    {{".gitconfig"}, Reach::kItself, kGit},
    {{".config", "git"}, Reach::kBelow, kGit},
    {{".husky"}, Reach::kBelow, "git runs it"},
    {{".hg", "hgrc"}, Reach::kItself, "Mercurial runs commands that it names"},
    {{".gdbinit"}, Reach::kItself, "gdb runs it when it starts in the directory"},
    {{".ssh"}, Reach::kBelow, kKeys},
    {{".gnupg"}, Reach::kBelow, kKeys},
    {{".netrc"}, Reach::kItself, kKeys},
    {{".npmrc"}, Reach::kItself, kPackages},
    {{".pypirc"}, Reach::kItself, kPackages},
    {{".vscode", "tasks.json"}, Reach::kItself, kEditor},
    {{".vscode", "settings.json"}, Reach::kItself, kEditor},
    {{".vscode", "launch.json"}, Reach::kItself, kEditor},
    {{".idea"}, Reach::kBelow, kEditor},
    {{".zed"}, Reach::kBelow, kEditor},
    {{".fleet"}, Reach::kBelow, kEditor},
    {{".devcontainer"}, Reach::kBelow, kContainer},
    {{".devcontainer.json"}, Reach::kItself, kContainer},
    {{".vim"}, Reach::kBelow, kEditor},
    {{".config", "nvim"}, Reach::kBelow, kEditor},
    {{".vimrc"}, Reach::kItself, kEditor},
    {{"_vimrc"}, Reach::kItself, kEditor},
    {{".gvimrc"}, Reach::kItself, kEditor},
    {{".exrc"}, Reach::kItself, kEditor},
    {{".nvimrc"}, Reach::kItself, kEditor},
    {{".nvim.lua"}, Reach::kItself, kEditor},
    {{".emacs"}, Reach::kItself, kEditor},
    {{".emacs.d"}, Reach::kBelow, kEditor},
    {{".dir-locals.el"}, Reach::kItself, kEditor},
    {{".dir-locals-2.el"}, Reach::kItself, kEditor},
    {{".cloche-outputs.json"}, Reach::kItself, "it says which files plugins may replace"},
    {{"crontab"}, Reach::kItself, kCron},
    {{".crontab"}, Reach::kItself, kCron},
    {{"crontabs"}, Reach::kBelow, kCron},
    {{"cron.d"}, Reach::kBelow, kCron},
    {{".config", "autostart"}, Reach::kBelow, kLogin},
    {{".config", "systemd", "user"}, Reach::kBelow, kLogin},
    {{".xprofile"}, Reach::kItself, kLogin},
    {{".xinitrc"}, Reach::kItself, kLogin},
    {{".xsession"}, Reach::kItself, kLogin},
    {{".xsessionrc"}, Reach::kItself, kLogin},
};

using Names = std::vector<std::string>;

std::size_t length(const Rule& rule) {
  return static_cast<std::size_t>(std::ranges::find(rule.names, std::string_view()) - rule.names.begin());
}

// Whether the rule matches with its first name at `at`.
bool matches(const Rule& rule, const Names& names, std::size_t at, FileKind kind) {
  const std::size_t whole = length(rule);
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

std::optional<std::string> why_protected(std::string_view path, FileKind kind) {
  const Names names = plain_components(path);
  if (auto reason = why_git(names, kind)) return reason;
  for (const Rule& rule : kRules) {
    for (std::size_t at = 0; at < names.size(); ++at) {
      if (matches(rule, names, at, kind)) return std::string(rule.reason);
    }
  }
  // Projects of editors, under any name.
  for (const std::string_view ending : {".code-workspace", ".sublime-project"}) {
    if (!names.empty() && names.back().ends_with(ending)) return std::string(kEditor);
  }
  return std::nullopt;
}

}  // namespace cloche::tree
