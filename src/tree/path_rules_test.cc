#include "tree/path_rules.h"

#include <gtest/gtest.h>

#include <string>

namespace cloche::tree {
namespace {

using std::string_literals::operator""s;

void expect_refused(const std::string& path, std::string_view rule) {
  const Status status = check_path(path);
  ASSERT_FALSE(status) << printable(path);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidInput);
  EXPECT_NE(status.error().text().find(rule), std::string::npos) << status.error().text();
}

TEST(PathRules, PlainPathsBelowTheTreeAreTaken) {
  for (const char* path : {"a", "a/b/c", "...", "..a", "a..", ".hidden", "a b", "\xc3\xa4/\xff", "a:b", "-"}) {
    EXPECT_TRUE(check_path(path)) << path;
  }
}

TEST(PathRules, NothingLeadsOutOfTheTree) {
  expect_refused("/etc/passwd", "absolute");
  expect_refused("/", "absolute");
  expect_refused("..", "\"..\"");
  expect_refused("../x", "\"..\"");
  expect_refused("a/../../x", "\"..\"");
  expect_refused("a/..", "\"..\"");
}

TEST(PathRules, APathHasOneSpelling) {
  expect_refused("", "empty");
  expect_refused(".", "\".\"");
  expect_refused("./a", "\".\"");
  expect_refused("a/./b", "\".\"");
  expect_refused("a//b", "empty component");
  expect_refused("a/", "empty component");
}

TEST(PathRules, WhatTheKernelWouldCutOrRefuseIsRefused) {
  expect_refused("a\0b"s, "NUL");
  EXPECT_TRUE(check_path(std::string(255, 'x')));
  expect_refused(std::string(256, 'x'), "255");
  std::string longest;
  while (longest.size() + 16 <= kMaxPath) longest += "fifteen-letters/";
  longest.back() = 'x';
  EXPECT_EQ(longest.size(), kMaxPath);
  EXPECT_TRUE(check_path(longest));
  expect_refused(longest + "x", "4096");
}

TEST(PathRules, TheStagingDirectoryIsOutOfReachUnderAnySpelling) {
  for (const char* path : {".cloche-apply", ".cloche-apply/journal", "a/.cloche-apply", "a/.cloche-apply/b",
                           ".CLOCHE-apply", ".cloche-apply.", ".cloche-apply /x", ".cloche\xe2\x80\x8c-apply"}) {
    expect_refused(path, "applying itself");
  }
  EXPECT_TRUE(check_path(".cloche-apply2"));
}

TEST(PathRules, AnErrorNamesThePathWithoutItsControlCharacters) {
  const Status status = check_path("\x1b[2J/..");
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().text().find("\\x1b[2J/.."), std::string::npos);
  EXPECT_EQ(printable("a\nb\x7f\xc2\x9b\xc3\xa4"), "a\\x0ab\\x7f\\xc2\x9b\xc3\xa4");
  EXPECT_LT(printable(std::string(5000, 'x')).size(), 250u);
}

}  // namespace
}  // namespace cloche::tree
