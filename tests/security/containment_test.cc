// Containment.C01_root_native …: every victim in its cell must report "held".
// ContainmentRemoved.C01_root_native_1 …: with the steps that give the property taken out it must report "breached",
// or the first test proves nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cases.h"
#include "outside.h"
#include "probes.h"
#include "stage.h"
#include "tree_state.h"

namespace cloche::security {
namespace {

const std::vector<std::string>& args_on(const Case& c, Cellar cellar) {
  if (cellar == Cellar::kWayOut && !c.way_out_args.empty()) return c.way_out_args;
  return cellar == Cellar::kProcess && !c.process_args.empty() ? c.process_args : c.args;
}

class HeldTest : public testing::Test {
 public:
  // `watched`: as every run is unless its policy says otherwise; without it the filter is another program.
  HeldTest(const Case& c, Lane lane, Cellar cellar, bool watched)
      : case_(c), lane_(lane), cellar_(cellar), watched_(watched) {}
  void TestBody() override {
    const Stage stage(lane_);
    ASSERT_EQ(stage.problem(), "");
    ASSERT_TRUE(stage.has("cloche")) << "cloche is not built";
    std::vector<std::string> options = case_.options;
    if (!watched_) options.insert(options.end(), {"--observe", "off"});
    const auto command = stage.cloche_run(cellar_, options, case_.victim, args_on(case_, cellar_));
    const std::string before = state_of(stage.tree());
    Running running = Running::start(stage.among_bait(case_.bait, command), stage.environment());
    if (case_.liveness) {
      ASSERT_TRUE(running.saw("ATTACK")) << running.finish().output;
      do {
        ASSERT_TRUE(starts_programs("/bin/true")) << "the host cannot start programs any more";
      } while (!running.over(std::chrono::milliseconds(20)));
    }
    const Ended ended = running.finish();
    EXPECT_TRUE(ended.in_time);
    EXPECT_TRUE(std::ranges::find(case_.expected, ended.code) != case_.expected.end())
        << "exit code " << ended.code << "; " << ended.output;
    EXPECT_EQ(ended.output.find("breached:"), std::string::npos) << ended.output;
    if (has_workspace(cellar_)) {
      EXPECT_EQ(stage.change_of_tree(before), "") << ended.output;
    }
  }

 private:
  const Case& case_;
  Lane lane_;
  Cellar cellar_;
  bool watched_;
};

// An empty removal: nothing can be taken out, so the victim runs among the bait without Cloche.
class RemovedTest : public testing::Test {
 public:
  RemovedTest(const Case& c, Lane lane, Cellar cellar, Removal removal)
      : case_(c), lane_(lane), cellar_(cellar), removal_(std::move(removal)) {}
  void TestBody() override {
    if (!case_.root_bait_removed.empty() && !lane_possible(Lane::kRoot)) {
      GTEST_SKIP() << "fact missing: only root can lay out " << case_.root_bait_removed;
    }
    const Stage stage(lane_);
    ASSERT_EQ(stage.problem(), "");
    ASSERT_TRUE(stage.has("weaken")) << "tests/security/weaken is not built";
    std::vector<std::string> bait = case_.bait;
    if (removal_.empty() && case_.number == 20) bait.emplace_back("--groups");
    const auto command =
        removal_.empty() ? std::vector<std::string>{stage.victim(case_.victim)}
                         : stage.cloche_run(cellar_, case_.options, case_.victim, args_on(case_, cellar_), removal_);
    const std::string before = state_of(stage.tree());
    Ended ended = run(stage.among_bait(bait, command), stage.environment());
    if (case_.workspace_only && !stage.change_of_tree(before).empty()) {
      ended.output += "breached: the host's tree " + stage.change_of_tree(before);
    }
    // Not always 1: the engine may find a limit behind it.
    EXPECT_NE(ended.code, 0) << ended.output;
    EXPECT_NE(ended.output.find("breached:"), std::string::npos)
        << "code " << ended.code << " without " << fmt::format("{}", fmt::join(removal_, ", ")) << ": " << ended.output;
  }

 private:
  const Case& case_;
  Lane lane_;
  Cellar cellar_;
  Removal removal_;
};

void add_removed(const Case& c, Lane lane, Cellar cellar, const std::string& suffix, const Removal& removal) {
  testing::RegisterTest(
      "ContainmentRemoved", (test_name(c, lane, cellar) + suffix).c_str(), nullptr, nullptr, __FILE__, __LINE__,
      [&c, lane, cellar, removal]() -> testing::Test* { return new RemovedTest(c, lane, cellar, removal); });
}

// A lane that is not possible is left out when ctest lists the tests, and ContainmentTable.RunsAsRootToo says so.
const bool kRegistered = [] {
  for (const Case& c : cases()) {
    for (const auto& [lane, cellar] : places_of(c)) {
      testing::RegisterTest("Containment", test_name(c, lane, cellar).c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [&c, at = lane, in = cellar]() -> testing::Test* { return new HeldTest(c, at, in, true); });
      const bool by_filter = std::ranges::any_of(c.removals, [](const Removal& removal) {
        return std::ranges::any_of(removal, [](const std::string& what) { return what.starts_with("filter"); });
      });
      if (by_filter && cellar == Cellar::kNative) {
        testing::RegisterTest(
            "Containment", (test_name(c, lane, cellar) + "_unwatched").c_str(), nullptr, nullptr, __FILE__, __LINE__,
            [&c, at = lane, in = cellar]() -> testing::Test* { return new HeldTest(c, at, in, false); });
      }
      int count = 0;
      for (const Removal& removal : removals_on(c, lane, cellar)) {
        add_removed(c, lane, cellar, fmt::format("_{}", ++count), removal);
      }
      if (!c.bare.empty() && cellar == Cellar::kNative) add_removed(c, lane, cellar, "_bare", {});
    }
  }
  return true;
}();

// Every case of a number, of victims and of probes.
std::vector<const Case*> all_of(int number) {
  std::vector<const Case*> out;
  for (const Case& c : cases()) {
    if (c.number == number) out.push_back(&c);
  }
  for (const Probe& probe : probes()) {
    if (probe.about.number == number) out.push_back(&probe.about);
  }
  return out;
}

TEST(ContainmentTable, H11_EveryPropertyHasAVictimOrAProbe) {
  for (int number = 1; number <= 64; ++number) EXPECT_FALSE(all_of(number).empty()) << "property " << number;
}

TEST(ContainmentTable, AttacksOfOneVictimDifferInTheirArgumentsAlone) {
  for (const Case& c : cases()) EXPECT_TRUE(c.same_for_all) << c.victim;
}

TEST(ContainmentTable, RunsAsRootToo) {
  if (!lane_possible(Lane::kRoot))
    GTEST_SKIP() << "fact missing: the tests run as an ordinary user, so the root lane is absent";
}

TEST(ContainmentTable, H11_EveryPropertyHasARemovalThatBreaksIt) {
  for (int number = 1; number <= 64; ++number) {
    const auto all = all_of(number);
    EXPECT_TRUE(std::ranges::any_of(all, [](const Case* c) { return !c->removals.empty(); }))
        << "property " << number << " has no removal";
    // Tier 0 promises a property or says why not, and what it promises can be taken out, too.
    for (const Case* c : all) {
      EXPECT_EQ(c->process_removals.empty(), !c->no_process.empty()) << "property " << number << " " << c->variant;
    }
  }
}

TEST(ContainmentTable, LivenessNoticesAHostThatIsStuck) {
  EXPECT_TRUE(starts_programs("/bin/true"));
  EXPECT_FALSE(starts_programs("/no/such/program"));
  EXPECT_FALSE(starts_programs("/usr/bin/yes", std::chrono::seconds(0))) << "it never ends";
}

}  // namespace
}  // namespace cloche::security
