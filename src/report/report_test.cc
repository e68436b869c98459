#include "report/report.h"

#include <gtest/gtest.h>

#include <set>

#include "report/outcome_info.h"

namespace cloche {
namespace {

TEST(Report, X8_EveryOutcomeHasItsOwnNameAndReadsBack) {
  std::set<std::string_view> names;
  for (const OutcomeInfo& row : all_outcomes()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(outcome_kind_from(row.name), row.kind);
    EXPECT_EQ(to_string(row.kind), row.name);
    EXPECT_FALSE(row.decided.empty());
  }
  for (const char* limit : {"oom", "pids", "disk", "cpu", "wall", "output", "network", "denied"}) {
    EXPECT_TRUE(names.contains(limit)) << limit;
  }
  EXPECT_EQ(outcome_kind_from("Exited"), std::nullopt);
  EXPECT_EQ(outcome_kind_from(""), std::nullopt);
}

TEST(Report, X8_ExitCodesTellWhoEndedTheRun) {
  const auto code = [](OutcomeKind kind, int guest_code, int signal) {
    return exit_code(
        Outcome{.kind = kind, .code = guest_code, .signal = signal, .message = {}, .step = {}, .hint = {}});
  };
  EXPECT_EQ(code(OutcomeKind::kExited, 0, 0), 0);
  EXPECT_EQ(code(OutcomeKind::kExited, 42, 0), 42);
  EXPECT_EQ(code(OutcomeKind::kExited, 255, 0), 255);
  EXPECT_EQ(code(OutcomeKind::kSignaled, 0, 11), 139);
  EXPECT_EQ(code(OutcomeKind::kCancelled, 0, 15), 130);
  // A guest that answers our SIGTERM with exit(0) must not turn a time-out into a success.
  EXPECT_EQ(code(OutcomeKind::kWall, 0, 15), 124);
  EXPECT_EQ(code(OutcomeKind::kFailed, 0, 0), 125);
  EXPECT_EQ(code(OutcomeKind::kRefused, 0, 0), 126);
  for (const OutcomeKind kind : {OutcomeKind::kCpu, OutcomeKind::kOom, OutcomeKind::kPids, OutcomeKind::kDisk,
                                 OutcomeKind::kOutput, OutcomeKind::kDenied}) {
    EXPECT_EQ(code(kind, 0, 0), 137) << to_string(kind);
  }
}

TEST(Report, X8_NoOutcomeButAPlainExitHasExitCodeZero) {
  for (const OutcomeInfo& row : all_outcomes()) {
    Outcome outcome;
    outcome.kind = row.kind;
    EXPECT_EQ(exit_code(outcome) == 0, row.kind == OutcomeKind::kExited) << row.name;
    EXPECT_EQ(severity(outcome) == Severity::kGood, row.kind == OutcomeKind::kExited) << row.name;
  }
}

TEST(Report, ExitCodeStaysInTheByteThatAShellSees) {
  Outcome outcome;
  outcome.kind = OutcomeKind::kExited;
  outcome.code = 0x1ff;
  EXPECT_EQ(exit_code(outcome), 0xff);
  outcome.kind = OutcomeKind::kSignaled;
  outcome.signal = 0x7fffffff;
  EXPECT_LE(exit_code(outcome), 255);
}

TEST(Report, X1_EveryGuaranteeHasItsOwnNameAndReadsBack) {
  std::set<std::string_view> names;
  for (const Guarantee guarantee : all_guarantees()) {
    EXPECT_TRUE(names.insert(to_string(guarantee)).second) << to_string(guarantee);
    EXPECT_FALSE(describe(guarantee).empty());
    EXPECT_EQ(guarantee_from(to_string(guarantee)), guarantee);
  }
  EXPECT_EQ(names.size(), kGuaranteeCount);
  EXPECT_EQ(to_string(Guarantee::kNoNewPrivs), "no-new-privs");
  EXPECT_EQ(to_string(Guarantee::kCpuTime), "cpu-time");
  EXPECT_EQ(guarantee_from("no such"), std::nullopt);
}

TEST(Report, X1_StandingsReadBack) {
  for (const Standing standing : {Standing::kHeld, Standing::kWeakened, Standing::kAbsent}) {
    EXPECT_EQ(standing_from(to_string(standing)), standing);
  }
  EXPECT_EQ(to_string(Standing::kAbsent), "absent");
  EXPECT_EQ(standing_from("hold"), std::nullopt);
}

}  // namespace
}  // namespace cloche
