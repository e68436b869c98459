#include "prove/column.h"

#include <gtest/gtest.h>

namespace cloche::prove {
namespace {

TEST(Column, AnotherCommandIsToldOfNoLimit) {
  const auto against = [](const char* tries) { return tries_on({.tries = tries}, Kind::kAgainst); };
  EXPECT_EQ(against("writes 48 MiB under a limit of 16M"), "writes 48 MiB");
  EXPECT_EQ(against("makes 96 MiB of page tables, under a limit of 64M"), "makes 96 MiB of page tables");
  EXPECT_EQ(against("sleeps for 5 seconds under a limit of one, and ignores SIGTERM"),
            "sleeps for 5 seconds, and ignores SIGTERM");
  EXPECT_EQ(against("tries to reboot"), "tries to reboot");
  EXPECT_EQ(tries_on({.tries = "writes 48 MiB under a limit of 16M"}, Kind::kPolicy),
            "writes 48 MiB under a limit of 16M");
}

TEST(Column, WhatOnlyNarrowsIsNoGrant) {
  EXPECT_TRUE(narrowing_options({"--memory", "64M", "--stdin"}));
  EXPECT_FALSE(narrowing_options({"--memory", "64M", "--write", "/x"}));
}

}  // namespace
}  // namespace cloche::prove
