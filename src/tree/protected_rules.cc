#include "tree/protected_rules.h"

#include <unordered_map>
#include <vector>

namespace cloche::tree {
namespace {

constexpr std::string_view kShell = "shells run it when they start";
constexpr std::string_view kEditor = "editors run code that it names";
constexpr std::string_view kDirenv = "direnv runs it in every shell that enters the directory";
constexpr std::string_view kKeys = "it holds or directs keys and passwords";
constexpr std::string_view kPackages = "it tells a package manager where to send passwords and what to run";
constexpr std::string_view kCron = "the system runs the commands in it";
constexpr std::string_view kGit = "git runs commands that it names";
constexpr std::string_view kContainer = "editors build and run what it describes when they open the directory";
constexpr std::string_view kMise = "mise runs it in every shell that enters the directory";
constexpr std::string_view kCommitHooks = "git's hooks run commands that it names";
constexpr std::string_view kMercurial = "Mercurial runs commands that it names";
constexpr std::string_view kJujutsu = "Jujutsu runs commands that it names";
constexpr std::string_view kDebugger = "debuggers run it when they start in the directory";
constexpr std::string_view kConsole = "consoles of its language run it when they start in the directory";
constexpr std::string_view kCargo =
    "cargo, which editors start when they open the directory, runs programs that it names";
constexpr std::string_view kToolchain =
    "cargo, which editors start when they open the directory, runs the compiler that it names";
constexpr std::string_view kAgent = "coding agents run commands that it names";
constexpr std::string_view kSudo = "it says who may become root";
constexpr std::string_view kTerminal = "terminals run commands that it names";
constexpr std::string_view kLogin = "desktops run it at login";

constexpr ProtectedRule kRules[] = {
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
    {{".config", "fish"}, Reach::kBelow, kShell},
    {{".config", "nushell"}, Reach::kBelow, kShell},
    {{".config", "elvish"}, Reach::kBelow, kShell},
    {{".config", "xonsh"}, Reach::kBelow, kShell},
    {{".config", "powershell"}, Reach::kBelow, kShell},
    {{".xonshrc"}, Reach::kItself, kShell},
    {{".shrc"}, Reach::kItself, kShell},
    {{".yashrc"}, Reach::kItself, kShell},
    {{".bash_completion"}, Reach::kItself, kShell},
    {{".oh-my-zsh"}, Reach::kBelow, kShell},
    {{"profile.d"}, Reach::kBelow, kShell},
    {{".local", "bin"}, Reach::kBelow, kShell},
    {{".envrc"}, Reach::kItself, kDirenv},
    {{".direnvrc"}, Reach::kItself, kDirenv},
    {{".config", "direnv"}, Reach::kBelow, kDirenv},
    {{".mise.toml"}, Reach::kItself, kMise},
    {{"mise.toml"}, Reach::kItself, kMise},
    {{".mise.local.toml"}, Reach::kItself, kMise},
    {{"mise.local.toml"}, Reach::kItself, kMise},
    {{".mise"}, Reach::kBelow, kMise},
    {{".config", "mise"}, Reach::kBelow, kMise},
    {{".gitconfig"}, Reach::kItself, kGit},
    {{".config", "git"}, Reach::kBelow, kGit},
    {{".husky"}, Reach::kBelow, "git runs it"},
    {{".githooks"}, Reach::kBelow, "git runs it"},
    {{".pre-commit-config.yaml"}, Reach::kItself, kCommitHooks},
    {{"lefthook.yml"}, Reach::kItself, kCommitHooks},
    {{".lefthook.yml"}, Reach::kItself, kCommitHooks},
    {{"lefthook-local.yml"}, Reach::kItself, kCommitHooks},
    {{".lefthook-local.yml"}, Reach::kItself, kCommitHooks},
    {{".hg", "hgrc"}, Reach::kItself, kMercurial},
    {{".hgrc"}, Reach::kItself, kMercurial},
    {{".config", "hg"}, Reach::kBelow, kMercurial},
    {{".jj", "repo", "config.toml"}, Reach::kItself, kJujutsu},
    {{".jjconfig.toml"}, Reach::kItself, kJujutsu},
    {{".config", "jj"}, Reach::kBelow, kJujutsu},
    {{".gdbinit"}, Reach::kItself, kDebugger},
    {{".gdbearlyinit"}, Reach::kItself, kDebugger},
    {{".lldbinit"}, Reach::kItself, kDebugger},
    {{".pdbrc"}, Reach::kItself, kDebugger},
    {{".config", "gdb"}, Reach::kBelow, kDebugger},
    {{".byebugrc"}, Reach::kItself, kDebugger},
    {{".rdbgrc"}, Reach::kItself, kDebugger},
    {{".perldb"}, Reach::kItself, kDebugger},
    {{".jdbrc"}, Reach::kItself, kDebugger},
    {{".phpdbginit"}, Reach::kItself, kDebugger},
    {{".ghci"}, Reach::kItself, kConsole},
    {{".iex.exs"}, Reach::kItself, kConsole},
    {{".ocamlinit"}, Reach::kItself, kConsole},
    {{".octaverc"}, Reach::kItself, kConsole},
    {{".irbrc"}, Reach::kItself, kConsole},
    {{".pryrc"}, Reach::kItself, kConsole},
    {{".rprofile"}, Reach::kItself, kConsole},
    {{".renviron"}, Reach::kItself, kConsole},
    {{".psqlrc"}, Reach::kItself, kConsole},
    {{".sqliterc"}, Reach::kItself, kConsole},
    {{".ssh"}, Reach::kBelow, kKeys},
    {{".gnupg"}, Reach::kBelow, kKeys},
    {{".netrc"}, Reach::kItself, kKeys},
    {{".git-credentials"}, Reach::kItself, kKeys},
    {{".aws"}, Reach::kBelow, kKeys},
    {{".kube"}, Reach::kBelow, kKeys},
    {{".docker", "config.json"}, Reach::kItself, kKeys},
    {{".npmrc"}, Reach::kItself, kPackages},
    {{".pypirc"}, Reach::kItself, kPackages},
    {{".yarnrc"}, Reach::kItself, kPackages},
    {{".yarnrc.yml"}, Reach::kItself, kPackages},
    {{".gemrc"}, Reach::kItself, kPackages},
    {{".condarc"}, Reach::kItself, kPackages},
    {{".config", "pip"}, Reach::kBelow, kPackages},
    {{".pip"}, Reach::kBelow, kPackages},
    {{".cargo", "config"}, Reach::kItself, kCargo},
    {{".cargo", "config.toml"}, Reach::kItself, kCargo},
    {{".cargo", "bin"}, Reach::kBelow, kShell},
    {{"rust-toolchain"}, Reach::kItself, kToolchain},
    {{"rust-toolchain.toml"}, Reach::kItself, kToolchain},
    {{".tool-versions"}, Reach::kItself, "asdf and mise run programs that it names"},
    {{".mvn"}, Reach::kBelow, "Maven runs what it names"},
    {{".vscode", "tasks.json"}, Reach::kItself, kEditor},
    {{".vscode", "settings.json"}, Reach::kItself, kEditor},
    {{".vscode", "launch.json"}, Reach::kItself, kEditor},
    {{".vscode", "mcp.json"}, Reach::kItself, kAgent},
    {{".vs"}, Reach::kBelow, kEditor},
    {{".theia"}, Reach::kBelow, kEditor},
    {{".nova"}, Reach::kBelow, kEditor},
    {{".helix"}, Reach::kBelow, kEditor},
    {{".externaltoolbuilders"}, Reach::kBelow, kEditor},
    {{".idea"}, Reach::kBelow, kEditor},
    {{".zed"}, Reach::kBelow, kEditor},
    {{".fleet"}, Reach::kBelow, kEditor},
    {{".devcontainer"}, Reach::kBelow, kContainer},
    {{".devcontainer.json"}, Reach::kItself, kContainer},
    {{".vim"}, Reach::kBelow, kEditor},
    {{".config", "nvim"}, Reach::kBelow, kEditor},
    {{".nvim"}, Reach::kBelow, kEditor},
    {{".config", "vim"}, Reach::kBelow, kEditor},
    {{".config", "emacs"}, Reach::kBelow, kEditor},
    {{".config", "doom"}, Reach::kBelow, kEditor},
    {{".doom.d"}, Reach::kBelow, kEditor},
    {{".config", "helix"}, Reach::kBelow, kEditor},
    {{".config", "kak"}, Reach::kBelow, kEditor},
    {{".config", "zed"}, Reach::kBelow, kEditor},
    {{".config", "code"}, Reach::kBelow, kEditor},
    {{".config", "sublime-text"}, Reach::kBelow, kEditor},
    {{".vimrc"}, Reach::kItself, kEditor},
    {{"_vimrc"}, Reach::kItself, kEditor},
    {{".gvimrc"}, Reach::kItself, kEditor},
    {{".exrc"}, Reach::kItself, kEditor},
    {{".nvimrc"}, Reach::kItself, kEditor},
    {{".nvim.lua"}, Reach::kItself, kEditor},
    {{".lvimrc"}, Reach::kItself, kEditor},
    {{".vimrc.local"}, Reach::kItself, kEditor},
    {{".emacs"}, Reach::kItself, kEditor},
    {{".emacs.d"}, Reach::kBelow, kEditor},
    {{".dir-locals.el"}, Reach::kItself, kEditor},
    {{".dir-locals-2.el"}, Reach::kItself, kEditor},
    {{".ycm_extra_conf.py"}, Reach::kItself, kEditor},
    {{".spacemacs"}, Reach::kItself, kEditor},
    {{".mcp.json"}, Reach::kItself, kAgent},
    {{".claude.json"}, Reach::kItself, kAgent},
    {{".claude", "settings.json"}, Reach::kItself, kAgent},
    {{".claude", "settings.local.json"}, Reach::kItself, kAgent},
    {{".cursor", "mcp.json"}, Reach::kItself, kAgent},
    {{".cursor", "hooks.json"}, Reach::kItself, kAgent},
    {{".cursor", "environment.json"}, Reach::kItself, kAgent},
    {{".cursor", "cli.json"}, Reach::kItself, kAgent},
    {{".gemini", "settings.json"}, Reach::kItself, kAgent},
    {{".codex", "config.toml"}, Reach::kItself, kAgent},
    {{".windsurf", "mcp_config.json"}, Reach::kItself, kAgent},
    {{".roo", "mcp.json"}, Reach::kItself, kAgent},
    {{".kilocode", "mcp.json"}, Reach::kItself, kAgent},
    {{".amazonq", "mcp.json"}, Reach::kItself, kAgent},
    {{".kiro", "settings", "mcp.json"}, Reach::kItself, kAgent},
    {{".aider.conf.yml"}, Reach::kItself, kAgent},
    {{"opencode.json"}, Reach::kItself, kAgent},
    {{"opencode.jsonc"}, Reach::kItself, kAgent},
    {{".claude", "hooks"}, Reach::kBelow, kAgent},
    {{".claude", "commands"}, Reach::kBelow, kAgent},
    {{".claude", "agents"}, Reach::kBelow, kAgent},
    {{".claude", "skills"}, Reach::kBelow, kAgent},
    {{".claude", "plugins"}, Reach::kBelow, kAgent},
    {{".cursor", "hooks"}, Reach::kBelow, kAgent},
    {{".gemini", "extensions"}, Reach::kBelow, kAgent},
    {{".opencode"}, Reach::kBelow, kAgent},
    {{".continue"}, Reach::kBelow, kAgent},
    {{".cloche-outputs.json"}, Reach::kItself, "it says which files plugins may replace"},
    {{"crontab"}, Reach::kItself, kCron},
    {{".crontab"}, Reach::kItself, kCron},
    {{"crontabs"}, Reach::kBelow, kCron},
    {{"cron.d"}, Reach::kBelow, kCron},
    {{"cron.hourly"}, Reach::kBelow, kCron},
    {{"cron.daily"}, Reach::kBelow, kCron},
    {{"cron.weekly"}, Reach::kBelow, kCron},
    {{"cron.monthly"}, Reach::kBelow, kCron},
    {{".forward"}, Reach::kItself, kCron},
    {{".procmailrc"}, Reach::kItself, kCron},
    {{"sudoers"}, Reach::kItself, kSudo},
    {{"sudoers.d"}, Reach::kBelow, kSudo},
    {{".config", "autostart"}, Reach::kBelow, kLogin},
    {{".config", "systemd", "user"}, Reach::kBelow, kLogin},
    {{".config", "environment.d"}, Reach::kBelow, kLogin},
    {{".config", "plasma-workspace"}, Reach::kBelow, kLogin},
    {{".config", "i3"}, Reach::kBelow, kLogin},
    {{".config", "sway"}, Reach::kBelow, kLogin},
    {{".config", "hypr"}, Reach::kBelow, kLogin},
    {{".local", "share", "systemd"}, Reach::kBelow, kLogin},
    {{".local", "share", "dbus-1"}, Reach::kBelow, kLogin},
    {{".pam_environment"}, Reach::kItself, kLogin},
    {{".tmux.conf"}, Reach::kItself, kTerminal},
    {{".screenrc"}, Reach::kItself, kTerminal},
    {{".wezterm.lua"}, Reach::kItself, kTerminal},
    {{".config", "tmux"}, Reach::kBelow, kTerminal},
    {{".config", "wezterm"}, Reach::kBelow, kTerminal},
    {{".config", "kitty"}, Reach::kBelow, kTerminal},
    {{".config", "alacritty"}, Reach::kBelow, kTerminal},
    {{".config", "ghostty"}, Reach::kBelow, kTerminal},
    {{".xprofile"}, Reach::kItself, kLogin},
    {{".xinitrc"}, Reach::kItself, kLogin},
    {{".xsession"}, Reach::kItself, kLogin},
    {{".xsessionrc"}, Reach::kItself, kLogin},
};

using Index = std::unordered_map<std::string_view, std::vector<RuleStep>>;

Index all_names() {
  Index index;
  for (std::size_t rule = 0; rule < std::size(kRules); ++rule) {
    for (std::size_t i = 0; i < kRules[rule].length(); ++i) index[kRules[rule].names.at(i)].push_back({rule, i});
  }
  return index;
}

}  // namespace

std::span<const ProtectedRule> protected_rules() { return kRules; }

std::span<const RuleStep> rules_with(std::string_view name) {
  static const Index kIndex = all_names();
  const auto found = kIndex.find(name);
  return found == kIndex.end() ? std::span<const RuleStep>() : found->second;
}

}  // namespace cloche::tree
