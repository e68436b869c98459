#include "tree/protected_names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tree/file_names.h"
#include "tree/protected_rules.h"

namespace cloche::tree {
namespace {

bool is_protected(std::string_view path, FileKind kind = FileKind::kRegular) {
  return why_protected(path, kind).has_value();
}

TEST(ProtectedNames, WhatRunsByItselfIsProtectedAtAnyDepth) {
  for (const char* path : {".git/hooks/pre-commit",
                           ".git/hooks",
                           ".git/config",
                           ".git/config.worktree",
                           ".git/modules/sub/config",
                           ".git/modules/sub/hooks/post-checkout",
                           ".git/worktrees/w/config.worktree",
                           ".git/commondir",
                           ".git",
                           ".cloche-outputs.json",
                           ".bashrc",
                           ".bash_profile",
                           ".profile",
                           ".zshrc",
                           ".zshenv",
                           ".zprofile",
                           ".kshrc",
                           ".config/fish/config.fish",
                           ".config/fish/conf.d/x.fish",
                           ".ssh/authorized_keys",
                           ".ssh",
                           ".gnupg/gpg.conf",
                           ".vscode/tasks.json",
                           ".vscode/settings.json",
                           ".vscode/launch.json",
                           ".idea/workspace.xml",
                           ".idea/a/b",
                           ".vimrc",
                           ".exrc",
                           ".nvimrc",
                           ".emacs",
                           ".dir-locals.el",
                           ".envrc",
                           ".npmrc",
                           ".pypirc",
                           ".netrc",
                           "crontab",
                           "cron.d/x",
                           "crontabs/root",
                           ".config/autostart/x.desktop",
                           ".config/systemd/user/x.service"}) {
    EXPECT_TRUE(is_protected(path)) << path;
    EXPECT_TRUE(is_protected("deep/below/" + std::string(path))) << path;
  }
}

TEST(ProtectedNames, WhatEditorsAndToolsRunWhenTheyOpenADirectoryIsProtected) {
  for (const char* path :
       {".zed/tasks.json", ".fleet/run.json", "project.code-workspace", "project.sublime-project",
        ".devcontainer/devcontainer.json", ".devcontainer.json", ".vim/plugin/x.vim", "_vimrc", ".config/nvim/init.lua",
        ".gitconfig", ".config/git/config", ".hg/hgrc", ".gdbinit", ".husky/pre-commit", ".direnvrc",
        ".config/direnv/direnvrc", ".xprofile", ".xinitrc", ".xsession"}) {
    EXPECT_TRUE(is_protected(path)) << path;
    EXPECT_TRUE(is_protected("deep/below/" + std::string(path))) << path;
  }
  for (const char* path : {".hg/dirstate", ".config/other", "zed/tasks.json", "code-workspace", "husky.md"}) {
    EXPECT_FALSE(is_protected(path)) << path;
  }
}

TEST(ProtectedNames, R4_WhatToolsObeyInADirectoryThatIsEnteredIsProtected) {
  for (const char* path : {".vs/tasks.vs.json",
                           ".theia/tasks.json",
                           ".vscode/mcp.json",
                           ".xonshrc",
                           ".config/nushell/env.nu",
                           ".config/environment.d/x.conf",
                           ".pam_environment",
                           ".lldbinit",
                           ".gdbearlyinit",
                           ".mcp.json",
                           ".cursor/mcp.json",
                           ".cursor/hooks.json",
                           ".claude/settings.json",
                           ".claude/settings.local.json",
                           ".claude/commands/x.md",
                           ".gemini/settings.json",
                           ".codex/config.toml",
                           ".githooks/pre-commit",
                           ".pre-commit-config.yaml",
                           "lefthook.yml",
                           ".mise.toml",
                           "mise.toml",
                           ".Rprofile",
                           ".irbrc",
                           ".ghci",
                           ".iex.exs",
                           ".ocamlinit",
                           ".octaverc",
                           ".rdbgrc",
                           ".perldb",
                           ".tool-versions",
                           "rust-toolchain",
                           "rust-toolchain.toml",
                           ".yarnrc.yml",
                           ".cargo/config.toml",
                           ".tmux.conf",
                           ".config/fish/functions/ls.fish",
                           ".config/helix/config.toml",
                           ".helix/languages.toml",
                           ".local/bin/ls",
                           ".git-credentials",
                           "profile.d/x.sh",
                           "cron.daily/x",
                           "sudoers.d/x"}) {
    EXPECT_TRUE(is_protected(path)) << path;
    EXPECT_TRUE(is_protected("deep/below/" + std::string(path))) << path;
  }
  for (const char* path : {".claude/worktrees/x/main.cc", ".cursor/worktrees/x/main.cc", ".docker/Dockerfile",
                           ".cargo/registry/x", "mcp.json", ".local/share/x", "cargo/config.toml"}) {
    EXPECT_FALSE(is_protected(path)) << path;
  }
}

TEST(ProtectedNames, R4_FurtherSettingsThatAreObeyedWithoutBeingAskedAreProtected) {
  for (const char* path : {".bashrc.d/x",
                           ".zshrc.local",
                           ".config/zsh/.zshrc",
                           ".config/starship.toml",
                           ".rvmrc",
                           ".autoenv.zsh",
                           "mise/config.toml",
                           ".lefthook.toml",
                           ".lefthook/pre-commit/x",
                           ".git-hooks/x",
                           ".overcommit.yml",
                           ".hg/sharedpath",
                           ".sl/config",
                           ".subversion/config",
                           ".RData",
                           ".erlang",
                           "startup.m",
                           ".ipython/profile_default/startup/x.py",
                           "jupyter_config.py",
                           "sitecustomize.py",
                           ".pnpmfile.cjs",
                           ".yarn/releases/yarn-4.cjs",
                           "bunfig.toml",
                           ".bundle/config",
                           ".gradle/init.d/x.gradle",
                           "gradle/wrapper/gradle-wrapper.jar",
                           ".jvmopts",
                           ".curlrc",
                           ".config/gh/config.yml",
                           ".docker/cli-plugins/docker-x",
                           ".vscode/c_cpp_properties.json",
                           "hie.yaml",
                           ".factorypath",
                           ".ideavimrc",
                           ".emacs.desktop",
                           ".gitpod.yml",
                           ".idx/dev.nix",
                           ".codesandbox/tasks.json",
                           ".mailcap",
                           ".tmux/plugins/x",
                           ".config/awesome/rc.lua",
                           "AGENTS.md",
                           "CLAUDE.md",
                           "GEMINI.md",
                           ".cursorrules",
                           ".cursor/rules/x.mdc",
                           ".clinerules",
                           ".clinerules/x.md",
                           ".github/copilot-instructions.md",
                           ".agents/skills/x/SKILL.md",
                           ".openhands/setup.sh",
                           ".kiro/steering/x.md"}) {
    EXPECT_TRUE(is_protected(path)) << path;
    EXPECT_TRUE(is_protected("deep/below/" + std::string(path))) << path;
  }
  // Sources of the project, what a server runs, and what only says a version.
  for (const char* path : {"Makefile",
                           "package.json",
                           "build.rs",
                           "conftest.py",
                           "pyproject.toml",
                           "setup.py",
                           "eslint.config.js",
                           ".eslintrc.json",
                           ".pylintrc",
                           "CMakePresets.json",
                           "compose.yaml",
                           "Vagrantfile",
                           ".gitlab-ci.yml",
                           ".github/workflows/x.yml",
                           ".env",
                           ".nvmrc",
                           ".python-version",
                           ".node-version",
                           ".editorconfig",
                           ".clangd",
                           "gradle/libs.versions.toml",
                           ".yarn/cache/x.zip",
                           ".gradle/caches/x",
                           ".bundle/plugin/x",
                           "docs/startup.md",
                           ".config/x/starship.toml",
                           "agents/x.md",
                           "README.md"}) {
    EXPECT_FALSE(is_protected(path)) << path;
  }
}

TEST(ProtectedNames, R4_WhatGitHasStillToDoIsProtected) {
  for (const char* path :
       {".git/rebase-merge/git-rebase-todo", ".git/rebase-merge", ".git/rebase-apply/x", ".git/sequencer/todo",
        ".git/worktrees/w/rebase-merge/git-rebase-todo", ".git/modules/m/Rebase-Merge./done"}) {
    EXPECT_EQ(why_protected(path, FileKind::kRegular), kSequencer) << path;
    EXPECT_TRUE(is_protected("deep/" + std::string(path), FileKind::kDirectory)) << path;
  }
  EXPECT_TRUE(why_protected("git-rebase-todo", FileKind::kRegular, above_of("/p/.git/rebase-merge")));
  for (const char* path : {"rebase-merge/git-rebase-todo", "sequencer/x", ".git/rebase-merge.txt"}) {
    EXPECT_FALSE(is_protected(path)) << path;
  }
}

TEST(ProtectedNames, R4_TheWayToTheTreeIsPartOfAName) {
  const auto below = [](std::string_view place, std::string_view path, FileKind kind = FileKind::kRegular) {
    return why_protected(path, kind, above_of(place)).has_value();
  };
  for (const char* place :
       {"/home/u/p/.git/hooks", "/p/.git/modules/m/hooks/deep", "/home/u/.ssh", "/home/u/.SSH/x", "/home/u/.idea",
        "/home/u/.config/nvim/lua", "/home/u/.config/systemd/user", "/etc/cron.d"}) {
    EXPECT_TRUE(below(place, "x")) << place;
    EXPECT_TRUE(below(place, "deep/er/x", FileKind::kDirectory)) << place;
  }
  EXPECT_TRUE(below("/p/.git", "config"));
  EXPECT_TRUE(below("/p/.git", "hooks/x"));
  EXPECT_TRUE(below("/p/.git/modules/a/b/c", "config"));
  EXPECT_TRUE(below("/p/.vscode", "tasks.json"));
  EXPECT_TRUE(below("/home/u/.config", "autostart/x"));
  EXPECT_TRUE(below("/home/u/.config", "systemd", FileKind::kSymlink));
  EXPECT_TRUE(below("/home/u/.config/systemd", "user/x"));
  for (const char* place : {"/home/u/p", "/home/u/.config", "/p/.git", "/p/.vscode", "/", "/home/u/.local/share/p"}) {
    EXPECT_FALSE(below(place, "x")) << place;
    EXPECT_FALSE(below(place, "a/tasks.json")) << place;
  }
  EXPECT_FALSE(below("/p/.vscode/deep", "tasks.json"));
}

TEST(ProtectedNames, OrdinaryFilesAreNot) {
  for (const char* path : {"Makefile",
                           "a/Makefile",
                           "src/main.cc",
                           ".gitignore",
                           ".gitmodules",
                           ".gitattributes",
                           ".github/workflows/x.yml",
                           ".git/HEAD",
                           ".git/objects/ab/cdef",
                           ".git/refs/heads/main",
                           "config",
                           "hooks/x",
                           "git/hooks/x",
                           "bashrc",
                           ".bashrc.md",
                           ".vscode/extensions.json",
                           "tasks.json",
                           ".config/x",
                           "autostart/x",
                           "ssh/x",
                           "gi",
                           "fish/conf.d/x"}) {
    EXPECT_FALSE(is_protected(path)) << path;
  }
  EXPECT_FALSE(is_protected(".git", FileKind::kDirectory));
  EXPECT_FALSE(is_protected(".vscode", FileKind::kDirectory));
}

TEST(ProtectedNames, ALinkInPlaceOfAProtectedPathsParentIsProtected) {
  for (const char* path : {".git", ".git/modules", ".vscode", ".config", ".config/autostart", "x/.config/systemd"}) {
    EXPECT_TRUE(is_protected(path, FileKind::kSymlink)) << path;
  }
  EXPECT_FALSE(is_protected("docs", FileKind::kSymlink));
  EXPECT_FALSE(is_protected("a/latest", FileKind::kSymlink));
}

TEST(ProtectedNames, OtherSpellingsThatSomeFileSystemTakesForTheSameAreSeen) {
  for (const char* path : {".GIT/config",
                           ".Git/HOOKS/x",
                           ".git./config",
                           ".git /config",
                           ".git . ./config",
                           "git~1/config",
                           "GIT~1/hooks/x",
                           ".g\xe2\x80\x8cit/config",
                           ".gi\xe2\x80\x8dt/config",
                           "\xef\xbb\xbf.git/config",
                           ".git\xe2\x81\xaf/config",
                           ".git/conf\xe2\x80\xaaig",
                           ".git::$INDEX_ALLOCATION/config",
                           ".git/config:x",
                           ".git/con\xef\xac\x81g",
                           ".\xc5\xbfsh/x",
                           ".\xc3\x9fh/x",
                           ".BashRC",
                           ".bashrc.",
                           ".ba\xc2\xadshrc",
                           ".VSCode/Tasks.JSON"}) {
    EXPECT_TRUE(is_protected(path)) << path;
  }
}

// The same by comparing every rule at every name: what the index must find.
bool matches_plainly(const ProtectedRule& rule, std::span<const std::string> names, FileKind kind) {
  const std::size_t whole = rule.length();
  const std::size_t shared = std::min(whole, names.size());
  if (!std::ranges::equal(names.first(shared), std::span(rule.names).first(shared))) return false;
  if (shared < whole) return kind == FileKind::kSymlink;
  return rule.reach == Reach::kBelow || whole == names.size();
}

std::optional<std::string> git_plainly(const std::vector<std::string>& names, FileKind kind) {
  const auto git = std::ranges::find(names, ".git");
  if (git == names.end()) return std::nullopt;
  if (git + 1 == names.end()) {
    if (kind == FileKind::kDirectory) return std::nullopt;
    return "it tells git which repository, and so whose hooks and settings, to use";
  }
  const std::string& last = names.back();
  if (std::find(git + 1, names.end(), "hooks") != names.end()) return "git runs it";
  if (std::find_if(git + 1, names.end(), is_git_sequencer) != names.end()) return std::string(kSequencer);
  if (last == "config" || last == "config.worktree") return "git runs commands that it names";
  const bool leads = last == "gitdir" || last == "commondir" || (kind == FileKind::kSymlink && last != "head");
  return leads ? std::optional<std::string>("it leads git to other hooks and settings") : std::nullopt;
}

std::optional<std::string> why_plainly(std::string_view path, FileKind kind) {
  const std::vector<std::string> names = plain_components(path);
  if (auto reason = git_plainly(names, kind)) return reason;
  for (const ProtectedRule& rule : protected_rules()) {
    for (std::size_t at = 0; at < names.size(); ++at) {
      if (matches_plainly(rule, std::span(names).subspan(at), kind)) return std::string(rule.reason);
    }
  }
  return std::nullopt;
}

std::vector<std::string> hostile_spellings(std::string name) {
  std::vector<std::string> all{name, name + ".", name + " . ", name + ":$DATA", name + "x", "x" + name};
  all.push_back("\xe2\x80\x8c" + name);
  all.push_back(std::string(name).insert(name.size() / 2, "\xef\xbb\xbf"));
  all.push_back(name.substr(0, name.size() - 1));
  all.push_back(std::string(name).substr(0, 6) + "~1");
  std::ranges::replace(name, 's', 'S');
  all.push_back(name);
  return all;
}

TEST(ProtectedNames, R4_WhatPythonRunsAtEveryStartIsProtected) {
  for (const char* path : {"venv/lib/python3.12/site-packages/x.pth", ".local/lib/python3.9/site-packages/a-nspkg.pth",
                           "usr/lib/python3/dist-packages/X.PTH", "Site-Packages/x.pth."}) {
    EXPECT_TRUE(is_protected(path)) << path;
    EXPECT_TRUE(is_protected(path, FileKind::kSymlink)) << path;
  }
  // The ending is that of models, too, and the packages themselves are as any other source.
  for (const char* path : {"model.pth", "site-packages/torch/model.pth", "site-packages/x.py", "site-packages/x.pth/a",
                           "lib/python3.12/x.py", ".local/lib/x"}) {
    EXPECT_FALSE(is_protected(path)) << path;
  }
  // A link on the way leads Python to such files of another name; a directory does not.
  for (const char* path : {"v/lib/python3.12/site-packages", "v/lib/python3.12", ".local/lib"}) {
    EXPECT_TRUE(is_protected(path, FileKind::kSymlink)) << path;
    EXPECT_FALSE(is_protected(path, FileKind::kDirectory)) << path;
  }
  for (const char* path : {"v/lib64", "lib", "v/bin/python3.12", "v/lib/python"}) {
    EXPECT_FALSE(is_protected(path, FileKind::kSymlink)) << path;
  }
  EXPECT_TRUE(why_protected("x.pth", FileKind::kRegular, above_of("/v/lib/python3.12/site-packages")));
}

TEST(ProtectedNames, R4_WhatDesktopsStartByATypeOrAMenuIsProtected) {
  EXPECT_TRUE(is_protected(".local/share/applications/x.desktop"));
  EXPECT_TRUE(is_protected(".local/share/applications/mimeapps.list"));
  EXPECT_FALSE(is_protected("share/applications/x.desktop"));
}

TEST(ProtectedNames, R4_TheIndexFindsWhatComparingAllRulesFinds) {
  std::set<std::string> paths{"", "a", "a/b", ".config", ".config/x/systemd/user", ".config/.config/systemd/user/x"};
  for (const char* git : {".git", "a/.git", "GIT~1", ".git.", ".git/.git", ".git/modules/m", "hooks", ".git/hooks"}) {
    for (const char* name :
         {"", "/config", "/Config.worktree", "/hooks", "/hooks/x", "/sequencer/hooks", "/a/rebase-merge/x",
          "/REBASE-apply", "/a/hooks.", "/HEAD", "/gitdir", "/commondir", "/x", "/.vscode/tasks.json", "/.ssh"}) {
      paths.insert(std::string(git) + name);
    }
  }
  for (const ProtectedRule& rule : protected_rules()) {
    std::string path;
    for (std::size_t i = 0; i < rule.length(); ++i) {
      const std::string name(rule.names.at(i));
      for (const std::string& other : hostile_spellings(name)) {
        for (const char* around : {"", "/x", "/.ssh", "/.vscode/tasks.json"}) {
          paths.insert(path + other + around);
          paths.insert("deep/.config/" + path + other + around);
        }
      }
      path += name + "/";
    }
  }
  for (const FileKind kind : {FileKind::kRegular, FileKind::kDirectory, FileKind::kSymlink}) {
    NameJudge sorted;
    for (const std::string& path : paths) EXPECT_EQ(sorted.why(path, kind), why_plainly(path, kind)) << path;
    NameJudge backwards;
    for (auto path = paths.rbegin(); path != paths.rend(); ++path) {
      EXPECT_EQ(backwards.why(*path, kind), why_plainly(*path, kind)) << *path;
    }
  }
}

TEST(ProtectedNames, APlainNameIsItsOwn) {
  for (const char* name : {".git", ".bashrc", "a b", "~", "-", "a~1", "\x01", "..a"}) EXPECT_EQ(plain_name(name), name);
  for (const char* name : {"git~1", ".git.", ".git ", ".Git", ".git:x", ".g\xc2\xadit"}) {
    EXPECT_EQ(plain_name(name), ".git") << name;
  }
}

TEST(ProtectedNames, BytesThatAreNoTextAreLeftAsTheyAre) {
  EXPECT_EQ(plain_name("\xff\xfe"), "\xff\xfe");
  EXPECT_EQ(plain_name("\xe2\x80"), "\xe2\x80");
  EXPECT_EQ(plain_name("\xc3\xa4"), "\xc3\xa4");
  EXPECT_EQ(plain_name(""), "");
  // One ignorable code point inside the bytes of another.
  EXPECT_EQ(plain_name("\xe2\xe2\x80\x8c\x80\x8c.git"), ".git");
}

TEST(ProtectedNames, TheReasonIsASentenceForPeople) {
  EXPECT_EQ(why_protected(".git/hooks/pre-commit", FileKind::kRegular), "git runs it");
  EXPECT_EQ(why_protected("a/.bashrc", FileKind::kRegular), "shells run it when they start");
}

}  // namespace
}  // namespace cloche::tree
