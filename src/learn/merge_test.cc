// What leaves a policy when it is widened: what an outer directory, or a workspace in its place, covers.
#include "learn/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/parse.h"
#include "policy/print.h"

namespace cloche::learn {
namespace {

Policy parsed(const std::string& text) {
  auto policy = parse_policy(text, "x.toml");
  EXPECT_TRUE(policy) << (policy ? "" : policy.error().text()) << "\n" << text;
  return policy ? *policy : Policy{};
}

std::string merged(const std::string& text, const std::vector<Item>& items) {
  const Policy before = parsed(text);
  const Policy after = compose(before, items, Changes::kProposed);
  const auto out = merge(text, "x.toml", before, after, items);
  EXPECT_TRUE(out) << (out ? "" : out.error().text());
  if (!out) return {};
  EXPECT_EQ(to_toml(parsed(*out)), to_toml(after)) << *out;
  return *out;
}

TEST(Merge, X5_TakesAnItemOutOfALine) {
  EXPECT_EQ(merged("version = 1\n[files] # f\nread = [\"/a\", \"/p\", \"/c\"] # r\n[workspace]\npath = [\"/o\"]\n",
                   {{Kind::kChange, "/p"}}),
            "version = 1\n[files] # f\nread = [\"/a\", \"/c\"] # r\n[workspace]\npath = [\"/o\", \"/p\"]\n");
  const std::string space = "\n[workspace]\npath = [\n  \"/p\",\n]\n";
  EXPECT_EQ(merged("version = 1\n[files]\nread = [\"/a\", '/p']\n", {{Kind::kChange, "/p"}}),
            "version = 1\n[files]\nread = [\"/a\"]\n" + space);
  EXPECT_EQ(merged("version = 1\n[files]\nread = [ \"/p\" , \"/a\", ]\n", {{Kind::kChange, "/p"}}),
            "version = 1\n[files]\nread = [ \"/a\", ]\n" + space);
}

TEST(Merge, X5_TakesAnItemOutOfItsOwnLineWithItsComment) {
  EXPECT_EQ(merged("version = 1\n[files]\nread = [\n  \"/a\", # one\n  \"/p\", # ] \"two\"\n  \"/é\" # last\n]\n",
                   {{Kind::kChange, "/p"}, {Kind::kChange, "/é"}}),
            "version = 1\n[files]\nread = [\n  \"/a\", # one\n]\n"
            "\n[workspace]\npath = [\n  \"/p\",\n  \"/é\",\n]\n");
}

TEST(Merge, X5_TakesTheKeyOutWithItsLastItem) {
  EXPECT_EQ(merged("version = 1\n[files] # f\nread = [\n  \"/p\", # one\n] # end\nexec = [\"/x\"]\n",
                   {{Kind::kChange, "/p"}}),
            "version = 1\n[files] # f\nexec = [\"/x\"]\n\n[workspace]\npath = [\n  \"/p\",\n]\n");
  EXPECT_EQ(merged("version = 1\nfiles.read = [\"/p\"]\n", {{Kind::kChange, "/p"}}),
            "version = 1\n\n[workspace]\npath = [\n  \"/p\",\n]\n");
  EXPECT_EQ(merged("version = 1\nfiles = { read = [\"/p\"], exec = [\"/x\"] }\n", {{Kind::kChange, "/p"}}),
            "version = 1\nfiles = { read = [], exec = [\"/x\"] }\n\n[workspace]\npath = [\n  \"/p\",\n]\n");
}

TEST(Merge, X5_AnOuterWorkspaceTakesThePlaceOfTheInnerOnes) {
  EXPECT_EQ(merged("version = 1\n[workspace]\npath = [\n  \"/p/a\",  # one\n  \"/p/b\",\n  \"/q\", # two\n]\n",
                   {{Kind::kChange, "/p"}}),
            "version = 1\n[workspace]\npath = [\n  \"/p\",\n  \"/q\",  # two\n]\n");
  EXPECT_EQ(merged("version = 1\nworkspace.path = [\"/p/a\"]\n", {{Kind::kChange, "/p"}}),
            "version = 1\nworkspace.path = [\"/p\"]\n");
}

// The first workspace is where a guest begins.
TEST(Merge, X5_KeepsTheOrderThatWasLearnt) {
  EXPECT_EQ(merged("version = 1\nworkspace.path = [\"/z\", \"/c\"]\n", {{Kind::kChange, "/b"}}),
            "version = 1\nworkspace.path = [\"/b\", \"/c\", \"/z\"]\n");
}

}  // namespace
}  // namespace cloche::learn
