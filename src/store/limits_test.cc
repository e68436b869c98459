#include "store/limits.h"

#include <gtest/gtest.h>

#include <chrono>

namespace cloche::store {
namespace {

using std::chrono::days;
using std::chrono::hours;

constexpr Moment kNow{days(20'000)};

ListedRun done(std::string id, Millis age, Bytes size = kibibytes(1), std::vector<std::string> keeps = {}) {
  ListedRun run{id, RunState::kDone, RunFile{}, size};
  run.file->id = id;
  run.file->facts.keeps = std::move(keeps);
  run.file->started = run.file->ended = kNow - age;
  run.file->end = RunEnd{"exited", 0};
  return run;
}

std::string chosen(const std::vector<ListedRun>& runs, const Limits& limits) {
  std::string out;
  for (const Choice& one : choose(runs, limits, kNow)) {
    out += (out.empty() ? "" : " ") + one.id + ":" + std::string(to_string(one.why));
  }
  return out;
}

const std::vector<ListedRun> kFour{done("a", hours(1)), done("b", days(1)), done("c", days(8)), done("d", days(9))};

TEST(Choose, OldOnesGoAndTheNewestStay) {
  EXPECT_EQ(chosen(kFour, {}), "");
  EXPECT_EQ(chosen(kFour, {.age = days(7)}), "c:age d:age");
  EXPECT_EQ(chosen(kFour, {.age = days(7), .keep = 3}), "d:age");
  EXPECT_EQ(chosen(kFour, {.age = Millis(0)}), "a:age b:age c:age d:age");
  EXPECT_EQ(chosen(kFour, {.runs = 1, .keep = 1}), "b:count c:count d:count");
  EXPECT_EQ(chosen(kFour, {.runs = 0}), "a:count b:count c:count d:count");
}

TEST(Choose, TheOldestGoUntilTheRestFits) {
  EXPECT_EQ(chosen(kFour, {.size = kibibytes(2)}), "c:size d:size");
  EXPECT_EQ(chosen(kFour, {.size = kibibytes(2), .keep = 3}), "d:size");
  EXPECT_EQ(chosen(kFour, {.size = Bytes{0}}), "a:size b:size c:size d:size");
  // A small one behind a large one does not slip through: it is older.
  EXPECT_EQ(
      chosen({done("a", hours(1)), done("big", days(1), gibibytes(1)), done("c", days(2))}, {.size = mebibytes(1)}),
      "big:size c:size");
  const Bytes most{~std::uint64_t{0}};
  EXPECT_EQ(chosen({done("a", hours(1), most), done("b", days(1), most)}, {.size = gibibytes(1), .keep = 1}), "b:size");
}

TEST(Choose, RunningOnesNeverAndCrashedOnesAlways) {
  std::vector<ListedRun> runs = kFour;
  runs[0].state = RunState::kRunning;
  runs[3].state = RunState::kCrashed;
  runs.push_back({"e", RunState::kCrashed, {}, {}});
  runs.push_back({"f", RunState::kRunning, {}, {}});
  EXPECT_EQ(chosen(runs, {.age = Millis(0), .size = Bytes{0}, .runs = 0}), "b:age c:age d:crashed e:crashed");
  EXPECT_EQ(chosen(runs, {.keep = 100}), "d:crashed e:crashed");
}

TEST(Choose, AClockThatWasSetBackMakesNobodyOld) {
  EXPECT_EQ(chosen({done("a", -days(100))}, {.age = days(7)}), "");
  EXPECT_EQ(chosen({done("a", -days(100))}, {.age = Millis(0)}), "a:age");
}

TEST(Choose, TheAutomaticLimitsSpareWhatNobodyCouldLookAt) {
  const Limits limits = *automatic_limits({});
  EXPECT_EQ(chosen({done("a", days(30), gibibytes(2))}, limits), "") << "the newest";
  const std::vector<ListedRun> runs{done("a", Millis(1), gibibytes(2)),
                                    done("b", Millis(2), gibibytes(2), {"workspace"}),
                                    done("c", Millis(3), gibibytes(2)), done("d", hours(2), Bytes{1}, {"workspace"})};
  EXPECT_EQ(chosen(runs, limits), "c:size d:size");
}

TEST(AutomaticLimits, FollowTheEnvironment) {
  EXPECT_EQ(*automatic_limits({}), (Limits{days(7), gibibytes(1), 1000, 1, hours(1)}));
  EXPECT_EQ(*automatic_limits({{"CLOCHE_KEEP_AGE", "1.5d"}, {"CLOCHE_KEEP_SIZE", "5M"}, {"CLOCHE_KEEP_RUNS", "3"}}),
            (Limits{hours(36), mebibytes(5), 3, 1, hours(1)}));
  for (const char* name : {"CLOCHE_KEEP_AGE", "CLOCHE_KEEP_SIZE", "CLOCHE_KEEP_RUNS"}) {
    for (const char* bad : {"-1", "x", "7 d", "d", "99999999999999999999", "1\n"}) {
      const auto limits = automatic_limits({{name, bad}});
      ASSERT_FALSE(limits) << name << "=" << bad;
      EXPECT_EQ(limits.error().step, name);
    }
  }
  EXPECT_FALSE(parse_age("106751991168d", "--older-than")) << "does not fit";
}

}  // namespace
}  // namespace cloche::store
