#include "tree/git_settings.h"

#include <gtest/gtest.h>

namespace cloche::tree {
namespace {

using Found = std::vector<GitPath>;
constexpr auto kHooks = GitPath::Kind::kHooks;
constexpr auto kInclude = GitPath::Kind::kInclude;
constexpr auto kCommand = GitPath::Kind::kCommand;
using Words = std::set<std::string>;

TEST(GitSettings, TheThreeKeysAreFoundInAnySpelling) {
  EXPECT_EQ(git_paths("[core]\n\thooksPath = .githooks\n"), (Found{{kHooks, ".githooks"}}));
  EXPECT_EQ(git_paths("[CORE] HOOKSPATH=a b \t\r\n"), (Found{{kHooks, "a b"}}));
  EXPECT_EQ(git_paths("\xef\xbb\xbf[include]\npath=../x\n[includeIf \"gitdir:~/\\\"]/\"]\npath = y"),
            (Found{{kInclude, "../x"}, {kInclude, "y"}}));
  EXPECT_EQ(git_paths("[includeif.onbranch]path=z"), (Found{{kInclude, "z"}}));
}

TEST(GitSettings, ValuesAreReadAsGitReadsThem) {
  EXPECT_EQ(git_paths("[core]\nhooksPath = \"a # b\" ; no\n"), (Found{{kHooks, "a # b"}}));
  EXPECT_EQ(git_paths("[core]\nhooksPath = a\\\nb\\tc # no\\\nhooksPath = d"),
            (Found{{kHooks, "ab\tc"}, {kHooks, "d"}}));
  EXPECT_EQ(git_paths("[core]\nhooksPath = \"a\"b\" \"  \n"), (Found{{kHooks, "ab "}}));
}

TEST(GitSettings, CommandsAreFoundWhateverTheyAreFor) {
  for (const char* text : {"[core]\nfsmonitor = a/b",
                           "[core]\npager = a/b",
                           "[core]\neditor = a/b",
                           "[core]\nsshCommand = a/b",
                           "[core]\naskPass = a/b",
                           "[diff]\nexternal = a/b",
                           "[diff \"x.y\"]\ncommand = a/b",
                           "[diff \"x\"]\ntextconv = a/b",
                           "[merge \"x\"]\ndriver = a/b",
                           "[filter \"x\"]\nclean = a/b",
                           "[filter \"x\"]\nsmudge = a/b",
                           "[filter.x]\nprocess = a/b",
                           "[credential]\nhelper = a/b",
                           "[credential \"https://x\"]\nhelper = a/b",
                           "[gpg]\nprogram = a/b",
                           "[gpg \"ssh\"]\nprogram = a/b",
                           "[sequence]\neditor = a/b",
                           "[uploadpack]\npackObjectsHook = a/b",
                           "[pager]\nlog = a/b",
                           "[mergetool \"x\"]\ncmd = a/b",
                           "[hook \"x\"]\ncommand = a/b"}) {
    EXPECT_EQ(git_paths(text), (Found{{kCommand, "a/b"}})) << text;
  }
  EXPECT_EQ(git_paths("[alias]\nx = !a/b\ny = log a/b\n"), (Found{{kCommand, "!a/b"}}));
  EXPECT_EQ(git_paths("[submodule \"x\"]\nupdate = !a/b\npath = a/b\n"), (Found{{kCommand, "!a/b"}}));
}

TEST(GitSettings, APathInACommandIsFoundHoweverItIsWritten) {
  EXPECT_EQ(paths_in_command("less -R"), Words{});
  EXPECT_EQ(paths_in_command("git-lfs clean -- %f"), Words{});
  EXPECT_EQ(paths_in_command("!tools/x"), Words{"tools/x"});
  for (const char* command : {"tools/x -f %f", "exec tools/x", "A=1 tools/x", "true;tools/x", "(tools/x)",
                              "sh 'tools/x'", "f() { tools/x \"$@\"; }; f", "sh -c \"tools/x\"", "--with=tools/x",
                              "\"tools\"/x", "\"$(git rev-parse --show-toplevel)/tools/x\"", "`pwd`/tools/x",
                              "$PWD/tools/x", "${GIT_WORK_TREE}//tools/x", "tool\\s/x"}) {
    EXPECT_TRUE(paths_in_command(command).contains("tools/x")) << command;
  }
  EXPECT_TRUE(paths_in_command("python3 conv.py").contains("conv.py"));
  EXPECT_TRUE(paths_in_command("\"my tools/x\" y").contains("my tools/x"));
  EXPECT_TRUE(paths_in_command("my tools/x").contains("my tools/x"));
  EXPECT_TRUE(paths_in_command("$HOME/x y").contains("~/x"));
  EXPECT_TRUE(paths_in_command("\"${HOME}/x\"").contains("~/x"));
  for (const char* command : {"", "!", ".", "..", "'", "\\", "$", "${", "a=", "/"}) {
    EXPECT_EQ(paths_in_command(command), Words{}) << command;
  }
}

TEST(GitSettings, WhereTheSettingsAreSeenFromIsFound) {
  EXPECT_EQ(git_paths("[core]\nworktree = ../../x\n"), (Found{{GitPath::Kind::kWorktree, "../../x"}}));
}

TEST(GitSettings, EachWordMayBeAFileWhereAProgramRunsFiles) {
  for (const char* command : {"!sh check", "!bash -e check x", "python3 check", "/bin/sh check", "! . check",
                              "env check", "!f() { sh \"$1\"; }; f check", "make -f check"}) {
    EXPECT_TRUE(paths_in_command(command).contains("check")) << command;
  }
  EXPECT_EQ(paths_in_command("!git status"), Words{}) << "is a word of git's own";
  EXPECT_EQ(paths_in_command("!check"), Words{}) << "is looked for in PATH";
  EXPECT_FALSE(paths_in_command("sh -e check").contains("-e"));
}

TEST(GitSettings, NothingElseIsFound) {
  for (const char* text : {"", "[", "[core", "[core]", "[core]\nhooksPath", "[core]\nhooksPath =", "hooksPath = x",
                           "[other]\nhooksPath = x", "[core]\n# hooksPath = x", "[core]\npath = x",
                           "[include]\nhooksPath = x\n\\", "[core]\nhooksPathx = x"}) {
    EXPECT_EQ(git_paths(text), Found{}) << text;
  }
}

}  // namespace
}  // namespace cloche::tree
