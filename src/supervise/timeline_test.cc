#include "supervise/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche {
namespace {

using std::chrono::microseconds;
using testing::ElementsAre;

Clock::time_point at(int us) { return Clock::time_point(microseconds(us)); }
std::uint64_t stamp(int us) { return static_cast<std::uint64_t>(us) * 1000; }

std::vector<std::pair<std::string, int>> taken(Timeline& timeline) {
  std::vector<std::pair<std::string, int>> out;
  for (const TimingStep& step : timeline.take()) out.emplace_back(step.name, static_cast<int>(step.took.count()));
  return out;
}

TEST(Timeline, EachStepBeginsWhereTheLastEnded) {
  Timeline timeline;
  timeline.begin(at(100));
  timeline.until("spawn", at(130));
  timeline.until("guest", stamp(180));
  timeline.until("reap", at(181));
  EXPECT_THAT(taken(timeline), ElementsAre(std::pair("spawn", 30), std::pair("guest", 50), std::pair("reap", 1)));
}

TEST(Timeline, SameNameIsOneStep) {
  Timeline timeline;
  timeline.begin(at(0));
  timeline.until("init", at(5));
  timeline.until("maps", at(6));
  timeline.until("init", at(9));
  EXPECT_THAT(taken(timeline), ElementsAre(std::pair("init", 8), std::pair("maps", 1)));
}

TEST(Timeline, StepThatEndedBeforeWeLookedTakesNothingFromTheNext) {
  Timeline timeline;
  timeline.begin(at(100));
  timeline.until("early", stamp(40));
  timeline.until("next", at(110));
  EXPECT_THAT(taken(timeline), ElementsAre(std::pair("early", 0), std::pair("next", 10)));
}

TEST(Timeline, WhatNeverHappenedIsNoStep) {
  Timeline timeline;
  timeline.begin(at(100));
  timeline.until("guest", std::uint64_t{0});
  timeline.until("reap", at(120));
  EXPECT_THAT(taken(timeline), ElementsAre(std::pair("reap", 20)));
}

TEST(Timeline, PhasesAreAsInitMeasuredThem) {
  Timeline timeline;
  timeline.begin(at(0));
  const std::uint32_t took[wire::kPhases] = {1'000, 2'000, 3'000, 4'000, 5'000, 6'999};
  timeline.add_phases(took, stamp(50));
  timeline.until("check", at(60));
  EXPECT_THAT(taken(timeline), ElementsAre(std::pair("maps", 1), std::pair("namespaces", 2), std::pair("mounts", 3),
                                           std::pair("limits", 4), std::pair("landlock", 5), std::pair("filter", 6),
                                           std::pair("check", 10)));
}

TEST(Timeline, NoStampOfACellLiesInTheFutureOrBeforeAllTime) {
  for (const std::uint64_t lie : {~std::uint64_t{0}, std::uint64_t{1} << 63, (std::uint64_t{1} << 63) - 1}) {
    const Clock::time_point begun = Clock::now();
    Timeline timeline;
    timeline.begin(begun);
    timeline.until("guest", lie);
    timeline.until("reap", Clock::now());
    const auto most = std::chrono::ceil<microseconds>(Clock::now() - begun);
    for (const TimingStep& step : timeline.take()) {
      EXPECT_GE(step.took.count(), 0) << step.name;
      EXPECT_LE(step.took, most) << step.name;
    }
  }
}

TEST(Timeline, WhatRunsBesideMovesNothing) {
  Timeline timeline;
  timeline.begin(at(10));
  timeline.beside(kFirstOutput, at(15));
  timeline.until("guest", at(30));
  EXPECT_THAT(taken(timeline), ElementsAre(std::pair(std::string(kFirstOutput), 5), std::pair("guest", 20)));
}

}  // namespace
}  // namespace cloche
