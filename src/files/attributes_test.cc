#include "files/attributes.h"

#include <gtest/gtest.h>

#include "files/test_support.h"

namespace cloche::files {
namespace {

// An access list by which user 4321 may read, too, with that mask.
std::string access_list(char mask) {
  const auto entry = [](char tag, char rights, const char(&id)[5]) {
    return std::string{tag, 0, rights, 0} + std::string(id, 4);
  };
  constexpr char kNobody[] = "\xff\xff\xff\xff";
  return std::string("\2\0\0\0", 4) + entry(1, 6, kNobody) + entry(2, 4, "\xe1\x10\0\0") + entry(4, 4, kNobody) +
         entry(16, mask, kNobody) + entry(32, 4, kNobody);
}

TEST(Attributes, X6_WhatTheHostsFileHasItselfIsNotSaidToBeDropped) {
  Desk desk;
  // As overlayfs and a copy leave them: with the attributes of what they were made of.
  for (const auto& path : {desk.lower("kept"), desk.upper("kept"), desk.lower("other"), desk.upper("other")}) {
    write_file(path, path);
    ASSERT_EQ(::setxattr(path.c_str(), "user.note", "n", 1, 0), 0);
  }
  ASSERT_EQ(::setxattr(desk.upper("other").c_str(), "user.note", "m", 1, 0), 0);
  fs::create_hard_link(desk.upper("kept"), desk.upper("new-name"));
  for (const auto& path : {desk.lower("listed"), desk.upper("listed"), desk.lower("bare"), desk.upper("bare")}) {
    write_file(path, path);
  }
  const auto give = [](const std::string& path, char mask) {
    const std::string list = access_list(mask);
    return ::setxattr(path.c_str(), "system.posix_acl_access", list.data(), list.size(), 0) == 0;
  };
  if (!give(desk.lower("listed"), 6)) GTEST_SKIP() << "fact missing: no access lists on this file system";
  // The mask is the mode's, which is kept.
  ASSERT_TRUE(give(desk.upper("listed"), 4));
  ASSERT_TRUE(give(desk.upper("bare"), 4));
  expect_captured(desk.capture());
  EXPECT_FALSE(desk.entry("kept").has(kAttributes));
  EXPECT_TRUE(desk.entry("new-name").has(kAttributes));
  EXPECT_TRUE(desk.entry("other").has(kAttributes));
  EXPECT_FALSE(desk.entry("listed").has(kAttributes));
  EXPECT_EQ(desk.entry("listed").after->mode, 0644u);
  EXPECT_TRUE(desk.entry("bare").has(kAttributes));
}

TEST(Attributes, X6_ABitThatDirectoriesPassOnIsNotSaidToBeDropped) {
  Desk desk;
  for (const auto& path : {desk.lower("shared"), desk.upper("shared")}) {
    fs::create_directory(path);
    ASSERT_EQ(::chmod(path.c_str(), 02775), 0);
  }
  ASSERT_EQ(::mkdir(desk.upper("shared/new").c_str(), 0755), 0);
  fs::create_directory(desk.upper("alone"));
  ASSERT_EQ(::chmod(desk.upper("alone").c_str(), 02755), 0);
  expect_captured(desk.capture());
  EXPECT_FALSE(desk.entry("shared/new").has(kSpecialBits));
  EXPECT_TRUE(desk.entry("alone").has(kSpecialBits));
}

}  // namespace
}  // namespace cloche::files
