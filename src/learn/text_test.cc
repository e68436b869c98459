// What is printed and merged must parse back to what was meant, whatever the names are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "learn/limits.h"
#include "learn/merge.h"
#include "learn/print.h"
#include "policy/parse.h"
#include "policy/presets.h"
#include "policy/print.h"

namespace cloche::learn {
namespace {

Policy parsed(const std::string& text) {
  auto policy = parse_policy(text, "x.toml");
  EXPECT_TRUE(policy) << (policy ? "" : policy.error().text()) << "\n" << text;
  return policy ? *policy : Policy{};
}

void expect_merge(const std::string& text, const std::vector<Item>& items, const std::string& wanted = {}) {
  const Policy before = parsed(text);
  const Policy after = compose(before, items, Changes::kProposed);
  const auto merged = merge(text, "x.toml", before, after, items);
  ASSERT_TRUE(merged) << merged.error().text();
  EXPECT_EQ(to_toml(parsed(*merged)), to_toml(after)) << *merged;
  if (!wanted.empty()) {
    EXPECT_EQ(*merged, wanted);
  }
}

TEST(LearntText, SaysWhatWasLearntWhateverTheNamesAre) {
  Learnt learnt;
  learnt.command = "evil\nversion = 2 # \x1b[2J";
  learnt.extends = "untrusted";
  learnt.parent = *preset("untrusted");
  learnt.items = {{Kind::kRead, "/p/qu\"ote", "note\nfiles = 1"},
                  {Kind::kExec, "/p/back\\slash"},
                  {Kind::kChange, "/p/'''", {}, "/p/'''"},
                  {Kind::kRead, "/p/# ] = [", "x"},
                  {Kind::kRead, "/p/\u202enome"},
                  {Kind::kEnv, "COLOUR"},
                  {Kind::kHost, "api.example.org:443"},
                  {Kind::kCwd, "/p"}};
  learnt.untried = {{Kind::kRead, "/p/\n[limits]"}};
  learnt.wanted = {{"read \"x\n\"", "because\nextends = 1"}};
  learnt.policy = compose(learnt.parent, learnt.items, Changes::kProposed);
  const std::string text = to_text(learnt);
  EXPECT_EQ(to_toml(parsed(text)), to_toml(learnt.policy)) << text;
  for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
}

TEST(LearntText, X5_SaysThatAWorkspaceIsAWholeDirectory) {
  Learnt learnt;
  learnt.extends = "untrusted";
  learnt.parent = *preset("untrusted");
  learnt.items = {{Kind::kChange, "/p/out", {}, "/p/out/file", true}};
  learnt.policy = compose(learnt.parent, learnt.items, Changes::kProposed);
  EXPECT_NE(to_text(learnt).find("  \"/p/out\",  # the whole directory"), std::string::npos) << to_text(learnt);
  // One file alone is no directory.
  learnt.policy = compose(learnt.parent, learnt.items, Changes::kDirect);
  EXPECT_NE(to_text(learnt).find("  \"/p/out/file\",\n"), std::string::npos) << to_text(learnt);
}

TEST(LearntText, EscapesWhatATerminalObeysOrAReaderCannotSee) {
  Learnt learnt;
  learnt.extends = "untrusted";
  learnt.parent = *preset("untrusted");
  learnt.items = {{Kind::kRead, "/p/\u202enome"}, {Kind::kRead, "/p/\u2028x"}, {Kind::kRead, "/p/\U000e0041x"}};
  learnt.policy = compose(learnt.parent, learnt.items, Changes::kProposed);
  const std::string text = to_text(learnt);
  EXPECT_EQ(to_toml(parsed(text)), to_toml(learnt.policy)) << text;
  EXPECT_EQ(parsed(text).files.read, learnt.policy.files.read);
  for (const char* shown : {R"("/p/\u202enome")", R"("/p/\u2028x")", R"("/p/\U000e0041x")"}) {
    EXPECT_THAT(text, testing::HasSubstr(shown));
  }
  expect_merge("version = 1\n[files]\nread = [\"/a\"]\n", {{Kind::kRead, "/p/\u202enome"}},
               "version = 1\n[files]\nread = [\"/a\", \"/p/\\u202enome\"]\n");
}

TEST(LearntText, KeepsTheListsOfThePolicyThatItExtends) {
  Learnt learnt;
  learnt.extends = "adapter";
  learnt.parent = *preset("adapter");
  learnt.items = {{Kind::kEnv, "COLOUR"}};
  learnt.policy = compose(learnt.parent, learnt.items, Changes::kProposed);
  EXPECT_THAT(parsed(to_text(learnt)).env.pass, testing::ElementsAre("LANG", "LC_*", "TZ", "COLOUR"));
}

TEST(Merge, PutsItemsIntoAListAndKeepsComments) {
  expect_merge("version = 1\n[files]\nread = [\n  \"/a\", # one\n  \"/b\" # two, ]\n] # end\n",
               {{Kind::kRead, "/c", "why"}},
               "version = 1\n[files]\nread = [\n  \"/a\", # one\n  \"/b\", # two, ]\n  \"/c\",  # why\n] # end\n");
}

TEST(Merge, PutsItemsIntoALineAndAnEmptyList) {
  expect_merge("version = 1\nfiles.read = [\"/a]\"]\n", {{Kind::kRead, "/c"}, {Kind::kRead, "/d"}},
               "version = 1\nfiles.read = [\"/a]\", \"/c\", \"/d\"]\n");
  expect_merge("version = 1\n[files]\nread = []\n", {{Kind::kRead, "/c"}}, "version = 1\n[files]\nread = [\"/c\"]\n");
  expect_merge("version = 1\n[files]\nread = [ '/a', ]\n", {{Kind::kRead, "/c"}});
  expect_merge("version = 1\n[files]\nread = [\"/é\", \"\"\"/x\"\"\"]\n", {{Kind::kRead, "/c"}});
  expect_merge("version = 1\n[files]\nread = [\n  \"/a\" # one\n  ]\n", {{Kind::kRead, "/c"}});
  expect_merge("version = 1\n[files]\nread = [\n  \"/a\"]\n", {{Kind::kRead, "/c"}});
  expect_merge("version = 1\n[files]\nread = [\n  # none yet\n]\n", {{Kind::kRead, "/c"}});
}

TEST(Merge, AddsKeysWhereTheyBelong) {
  expect_merge("version = 1 # v\n\n[limits]\npids = 8\n", {{Kind::kCwd, "/p"}, {Kind::kRead, "/c"}, {Kind::kEnv, "A"}});
  expect_merge("version = 1\n[files] # mine\nexec_writable = false # no\n",
               {{Kind::kRead, "/c"}, {Kind::kExecWritable, "x"}});
  expect_merge("version = 1\nfiles.exec_writable = false", {{Kind::kRead, "/c"}, {Kind::kExec, "/d"}});
  expect_merge("version = 1\n[net]\nallow = [{ host = \"a.example.org:443\", for = \"1m\" }]\n",
               {{Kind::kHost, "b.example.org:443"}});
  expect_merge("version = 1\nextends = \"adapter\"", {{Kind::kEnv, "A"}});
}

TEST(Merge, ChangesNothingWhereNothingIsMissing) {
  const std::string text = "version = 1\n[files]\nread = [\"/a\"]\n";
  expect_merge(text, {{Kind::kRead, "/a"}, {Kind::kRead, "/a"}}, text);
}

TEST(Compose, LeavesOutWhatAnotherGrantCovers) {
  const Policy policy = compose(*preset("untrusted"),
                                {{Kind::kChange, "/p/out"},
                                 {Kind::kChange, "/p/out/deep"},
                                 {Kind::kRead, "/p/out/x"},
                                 {Kind::kRead, "/q"},
                                 {Kind::kRead, "/q/r"},
                                 {Kind::kExec, "/p/out/tool"}},
                                Changes::kProposed);
  EXPECT_THAT(policy.workspace.path, testing::ElementsAre("/p/out"));
  EXPECT_THAT(policy.files.read, testing::ElementsAre("/q"));
  EXPECT_THAT(policy.files.exec, testing::ElementsAre("/p/out/tool"));
}

TEST(Compose, TakesEveryWriteOutOfATrial) {
  Policy policy = *preset("untrusted");
  policy.files.write = {"/p/out", "/q/file"};
  const Policy trial = without_writes(policy, [](const std::string& path) { return path == "/p/out"; });
  EXPECT_TRUE(trial.files.write.empty());
  EXPECT_THAT(trial.workspace.path, testing::ElementsAre("/p/out", "/q"));
}

TEST(Limits, HaveHeadRoomAndALeast) {
  const Limits base = preset("untrusted")->limits;
  const Limits least = limits_for({}, base);
  EXPECT_EQ(least.memory, base.memory);  // not measured
  EXPECT_EQ(least.wall, Millis(5000));
  Used used;
  used.usage.memory_peak = mebibytes(100);
  used.usage.pids_peak = 30;
  used.usage.wall = Millis(10'001);
  used.disk = mebibytes(33);
  used.files = 300;
  const Limits got = limits_for(used, base);
  EXPECT_EQ(least.files, base.files);  // not measured
  EXPECT_EQ(got.files, 608U);
  EXPECT_EQ(got.memory, mebibytes(160));
  EXPECT_EQ(got.pids, 64U);
  EXPECT_EQ(got.wall, Millis(32'000));
  EXPECT_EQ(got.disk, mebibytes(68));
}

TEST(Limits, OfAPolicyThatIsWidenedOnlyGrow) {
  const Limits base = preset("untrusted")->limits;
  Used used;
  used.usage.memory_peak = mebibytes(400);
  EXPECT_EQ(raised_limits(used, base), base);
  used.usage.memory_peak = mebibytes(600);
  EXPECT_EQ(raised_limits(used, base).memory, mebibytes(912));
}

TEST(Limits, ThatARunFailedOfAreKnownByWhatItWasDenied) {
  Report report;
  report.denials = {{"read", "limits.pids: x", 1},
                    {"limit", "limits.files: open refused", 3},
                    {"limit", "limits.memory: it was out of memory", 1},
                    {"limit", "limits.files: again", 1},
                    {"limit", "net.limits.bytes_in: too much", 1}};
  EXPECT_THAT(failed_limits(report), testing::ElementsAre("limits.files", "limits.memory"));
}

TEST(Limits, AreRaisedOneByOne) {
  const Limits base = preset("untrusted")->limits;
  for (const std::string_view key : learnt_limits()) {
    Limits limits = base;
    double_limit(limits, key);
    for (const std::string_view other : learnt_limits())
      EXPECT_EQ(is_same_limit(limits, base, other), other != key) << key;
    Limits back = limits;
    take_smaller(back, base, key);
    EXPECT_EQ(back, base) << key;
    take_larger(back, limits, key);
    EXPECT_EQ(back, limits) << key;
    copy_limit(back, base, key);
    EXPECT_EQ(back, base) << key;
  }
  Limits endless = base;
  endless.wall.reset();
  Limits bounded = endless;
  take_smaller(bounded, base, "limits.wall");
  EXPECT_EQ(bounded.wall, base.wall);
  take_larger(bounded, endless, "limits.wall");
  EXPECT_EQ(bounded.wall, std::nullopt);
}

TEST(Limits, OfMemoryAreNotLearntWhereAddressSpaceIsBounded) {
  const Limits base = preset("untrusted")->limits;
  Used used;
  used.usage.memory_peak = mebibytes(600);
  used.usage.pids_peak = 1;
  used.files = 9;
  Used more;
  more.memory_by_process = true;
  used = most(used, more);
  EXPECT_EQ(limits_for(used, base).memory, base.memory);
  EXPECT_EQ(raised_limits(used, base).memory, base.memory);
  EXPECT_THAT(unmeasured(used), testing::ElementsAre("limits.memory"));
}

TEST(Limits, SayWhatWasNotMeasured) {
  Used used;
  EXPECT_THAT(unmeasured(used), testing::ElementsAre("limits.memory", "limits.pids", "limits.files"));
  used.files = 4;
  used.usage.pids_peak = 1;
  used.usage.memory_peak = mebibytes(1);
  EXPECT_THAT(unmeasured(used), testing::IsEmpty());
}

}  // namespace
}  // namespace cloche::learn
