// Containment.C01_root_native …: every victim in its cell must report "held".
// ContainmentRemoved.C01_root_native_1 …: with the steps that give the property taken out it must report "breached",
// or the first test proves nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cases.h"
#include "stage.h"

namespace cloche::security {
namespace {

constexpr int kBreached = 1;

class HeldTest : public testing::Test {
 public:
  HeldTest(const Case& c, Lane lane, Cellar cellar) : case_(c), lane_(lane), cellar_(cellar) {}
  void TestBody() override {
    const Stage stage(lane_);
    ASSERT_EQ(stage.problem(), "");
    ASSERT_TRUE(stage.has("cloche")) << "cloche is not built";
    const auto command = stage.cloche_run(cellar_, case_.options, case_.victim, case_.args);
    const Ended ended = run(stage.among_bait(case_.bait, command), stage.environment());
    EXPECT_TRUE(ended.in_time);
    EXPECT_TRUE(std::ranges::find(case_.expected, ended.code) != case_.expected.end())
        << "exit code " << ended.code << "; " << ended.output;
    EXPECT_EQ(ended.output.find("breached:"), std::string::npos) << ended.output;
  }

 private:
  const Case& case_;
  Lane lane_;
  Cellar cellar_;
};

class RemovedTest : public testing::Test {
 public:
  RemovedTest(const Case& c, Lane lane, const Removal& removal) : case_(c), lane_(lane), removal_(removal) {}
  void TestBody() override {
    const Stage stage(lane_);
    ASSERT_EQ(stage.problem(), "");
    const bool direct = removal_ == Removal{"direct"};
    ASSERT_TRUE(direct || stage.has("weaken")) << "tests/security/weaken is not built";
    Ended ended;
    if (direct) {
      std::vector<std::string> bait = case_.bait;
      // A bare victim gets none of what the options would have asked for, and an ordinary user's own groups.
      if (case_.number == 20) bait.push_back("--groups");
      if (case_.number == 16) bait.push_back("--subreaper");
      auto extra = stage.environment();
      extra["BAIT_ENGINE"] = stage.path("bin/cloche-init");  // the user owns it
      ended = run(stage.among_bait(bait, {stage.victim(case_.victim)}), extra);
    } else {
      const auto command = stage.weakened(removal_, case_.options, case_.victim, case_.args);
      ended = run(stage.among_bait(case_.bait, command), stage.environment());
    }
    EXPECT_EQ(ended.code, kBreached) << "without " << fmt::format("{}", fmt::join(removal_, ", ")) << ": "
                                     << ended.output;
    EXPECT_NE(ended.output.find("breached:"), std::string::npos) << ended.output;
  }

 private:
  const Case& case_;
  Lane lane_;
  const Removal& removal_;
};

// The host's own properties; a lane that is not there is left out when ctest lists the tests, and the suite's lane test
// says so.
void register_case(const Case& c, Lane lane) {
  if (!lane_possible(lane) || (c.root_only && lane != Lane::kRoot) || (c.user_only && lane != Lane::kUser)) return;
  for (const Cellar cellar : {Cellar::kNative, Cellar::kBwrap}) {
    if (cellar == Cellar::kBwrap && !c.no_bwrap.empty()) continue;
    testing::RegisterTest("Containment", test_name(c, lane, cellar).c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [&c, lane, cellar]() -> testing::Test* { return new HeldTest(c, lane, cellar); });
  }
  for (std::size_t i = 0; i < c.removals.size(); ++i) {
    const std::string name = fmt::format("{}_{}", test_name(c, lane, Cellar::kNative), i + 1);
    testing::RegisterTest("ContainmentRemoved", name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [&c, lane, i]() -> testing::Test* { return new RemovedTest(c, lane, c.removals[i]); });
  }
}

const bool kRegistered = [] {
  for (const Case& c : cases()) {
    for (const Lane lane : {Lane::kRoot, Lane::kUser}) register_case(c, lane);
  }
  return true;
}();

TEST(ContainmentTable, EveryPropertyHasAVictimOrAProbe) {
  // Seen from outside, in probes_test.cc.
  constexpr int kProbes[] = {7, 12, 13, 25, 26, 28, 33, 57, 61, 62, 63};
  for (int number = 1; number <= 64; ++number) {
    const bool probed = std::ranges::find(kProbes, number) != std::end(kProbes);
    const bool attacked = std::ranges::any_of(cases(), [&](const Case& c) { return c.number == number; });
    EXPECT_TRUE(probed || attacked) << "property " << number;
  }
}

TEST(ContainmentTable, RunsAsRootToo) {
  if (!lane_possible(Lane::kRoot))
    GTEST_SKIP() << "fact missing: the tests run as an ordinary user, so the root lane is absent";
}

TEST(ContainmentTable, EveryVictimHasARemovalThatBreaksIt) {
  for (const Case& c : cases()) {
    const bool covered = std::ranges::any_of(
        cases(), [&](const Case& other) { return other.number == c.number && !other.removals.empty(); });
    EXPECT_TRUE(covered) << "property " << c.number;
  }
}

}  // namespace
}  // namespace cloche::security
