#include "tree/git_settings.h"

#include <gtest/gtest.h>

namespace cloche::tree {
namespace {

using Found = std::vector<GitPath>;
constexpr auto kHooks = GitPath::Kind::kHooks;
constexpr auto kInclude = GitPath::Kind::kInclude;

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

TEST(GitSettings, NothingElseIsFound) {
  for (const char* text : {"", "[", "[core", "[core]", "[core]\nhooksPath", "[core]\nhooksPath =", "hooksPath = x",
                           "[other]\nhooksPath = x", "[core]\n# hooksPath = x", "[core]\npath = x",
                           "[include]\nhooksPath = x\n\\", "[core]\nhooksPathx = x"}) {
    EXPECT_EQ(git_paths(text), Found{}) << text;
  }
}

}  // namespace
}  // namespace cloche::tree
