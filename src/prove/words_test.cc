#include "prove/words.h"

#include <gtest/gtest.h>

namespace cloche::prove {
namespace {

Words split(std::string_view line) { return split_words(line).value_or(Words{"error"}); }

TEST(SplitWords, AsAShellWould) {
  EXPECT_EQ(split("bwrap --ro-bind / / --"), (Words{"bwrap", "--ro-bind", "/", "/", "--"}));
  EXPECT_EQ(split("  a\t b  "), (Words{"a", "b"}));
  EXPECT_EQ(split("a 'b c' \"d e\" f\\ g"), (Words{"a", "b c", "d e", "f g"}));
  EXPECT_EQ(split("a'b'\"c\"d"), (Words{"abcd"}));
  EXPECT_EQ(split("'' \"\""), (Words{"", ""}));
  EXPECT_EQ(split("\"say \\\"x\\\" \\\\ \\n\""), (Words{"say \"x\" \\ \\n"}));
  EXPECT_EQ(split("'$HOME;`id`'"), (Words{"$HOME;`id`"}));
  EXPECT_EQ(split("\\$HOME"), (Words{"$HOME"}));
  EXPECT_EQ(split(""), Words{});
}

TEST(SplitWords, WhatAShellWouldReplaceIsRefusedNotPassedOn) {
  for (const char* line :
       {"a $HOME", "a `id`", "a | b", "a; b", "a && b", "a > b", "ls *", "a ~/b", "a \"$HOME\"", "a\nb",  "a #b", "(a",
        "a)",      "a <b",   "a?",    "[a",   "a]",     "{a",    "a}",   "!a",    "a 'b",        "a \"b", "a \\"}) {
    EXPECT_FALSE(split_words(line)) << line;
  }
}

}  // namespace
}  // namespace cloche::prove
