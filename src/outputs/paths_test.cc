#include "outputs/paths.h"

#include <gtest/gtest.h>

#include <vector>

namespace cloche::outputs {
namespace {

std::string clash(const std::vector<std::string_view>& paths) {
  const auto found = find_clash(paths);
  return found ? std::to_string(found->index) + " " + found->message : "";
}

TEST(OutputPaths, R4_PathsCannotClimbOut) {
  for (const char* path : {"", "/etc/passwd", "..", "../x", "a/../../x", "a/..", "./a", "a//b", "a/", ".cloche-apply/x",
                           "a/.CLOCHE-apply/n0"}) {
    EXPECT_FALSE(check_output_path(path)) << path;
  }
  EXPECT_FALSE(check_output_path(std::string_view("a\0b", 3)));
  for (const char* path : {"a", "a/b.txt", "..a/b..", "Zürich/日本語.txt", ".config/x"}) {
    EXPECT_TRUE(check_output_path(path)) << path;
  }
}

TEST(OutputPaths, R4_TheManifestIsNoOutput) {
  for (const char* path : {".cloche-outputs.json", "sub/.cloche-outputs.json", ".Cloche-OUTPUTS.json",
                           ".cloche-outputs.json/x", ".cloche-outputs.json.", ".cloche-out\u200cputs.json"}) {
    EXPECT_FALSE(check_output_path(path)) << path;
  }
  EXPECT_TRUE(check_output_path("cloche-outputs.json"));
}

TEST(OutputPaths, WhatCannotBeSeenIsRefused) {
  for (const char* path : {"a\nb", "a\x1b[2J", "a\tb", "a\x7f", "a\u202eb", "a\u200b", "a\u0085", "a\xff"}) {
    EXPECT_FALSE(check_output_path(path)) << path;
  }
}

TEST(OutputPaths, R4_NoNameBeginsOrEndsWithABlank) {
  for (const char* path :
       {" ", "  ", " a", "a ", "a/ ", " /a", "a/ b", "a /b", "a/b ", "\u00a0", "a\u3000", "\u2003a/b"}) {
    EXPECT_FALSE(check_output_path(path)) << '"' << path << '"';
  }
  for (const char* path : {"a b", "My Documents/read me.txt", "a\u3000b"}) EXPECT_TRUE(check_output_path(path)) << path;
}

TEST(OutputPaths, LongAndDeepPathsAreRefused) {
  EXPECT_FALSE(check_output_path(std::string(256, 'a')));
  std::string deep = "a";
  for (std::size_t i = 1; i < kMaxDepth; ++i) deep += "/a";
  EXPECT_TRUE(check_output_path(deep));
  EXPECT_FALSE(check_output_path(deep + "/a"));
  const std::string folder = std::string(200, 'b') + "/";
  EXPECT_TRUE(check_output_path(folder + folder + folder + folder + folder + std::string(19, 'c')));
  EXPECT_FALSE(check_output_path(folder + folder + folder + folder + folder + std::string(20, 'c')));
}

TEST(OutputPaths, R4_NoPathTwiceInAnySpelling) {
  EXPECT_EQ(clash({"a", "b", "a/b", "A/c"}), "2 a is a file above it");
  EXPECT_EQ(clash({"a", "a"}), "1 a is the same path to some file systems");
  EXPECT_EQ(clash({"x/README", "x/Readme"}), "1 x/README is the same path to some file systems");
  EXPECT_EQ(clash({"x.", "x"}), "1 x. is the same path to some file systems");
  EXPECT_EQ(clash({"a", "b", "ab", "a.b", "a-b/c"}), "");
}

TEST(OutputPaths, R4_NoFileAboveAnotherWhateverSortsInBetween) {
  EXPECT_EQ(clash({"a/b", "a-b", "a!", "a b", "a"}), "0 a is a file above it");
  EXPECT_EQ(clash({"A", "a/b"}), "1 A is a file above it");
  EXPECT_EQ(clash({"a/b/c/d", "a/b"}), "0 a/b is a file above it");
}

TEST(OutputPaths, FewBytesDoNotBecomeAMountainOfDirectories) {
  std::vector<std::string> deep;
  for (int i = 0; i < 400; ++i) {
    std::string path = std::to_string(i);
    for (int k = 0; k < 30; ++k) path += "/d";
    deep.push_back(path);
  }
  const std::vector<std::string_view> views(deep.begin(), deep.end());
  EXPECT_NE(clash(views).find("more than 10000 directories"), std::string::npos) << clash(views);
  EXPECT_EQ(clash({views.begin(), views.begin() + 300}), "");
  // Shared ones count once.
  std::vector<std::string> wide;
  for (int i = 0; i < 12'000; ++i) wide.push_back("one/two/" + std::to_string(i));
  EXPECT_EQ(clash({wide.begin(), wide.end()}), "");
}

}  // namespace
}  // namespace cloche::outputs
