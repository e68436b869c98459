#include <gtest/gtest.h>

#include <set>
#include <string>

#include "plan/plan.h"

namespace cloche {
namespace {

TEST(Describe, EveryKindOfStepHasATextOfItsOwn) {
  std::set<std::string> texts;
  const auto last = static_cast<std::uint16_t>(wire::StepKind::kExec);
  for (std::uint16_t kind = 1; kind <= last; ++kind) {
    Step step;
    step.kind = static_cast<wire::StepKind>(kind);
    step.a = "target";
    step.b = "/source";
    const std::string text = describe(step);
    EXPECT_FALSE(text.empty()) << kind;
    EXPECT_NE(text, "?") << kind;
    EXPECT_TRUE(texts.insert(text).second) << "two kinds say: " << text;
  }
  Step unknown;
  unknown.kind = static_cast<wire::StepKind>(last + 1);
  EXPECT_EQ(describe(unknown), "?");
}

TEST(Describe, SaysWhatSetsOneStepApartFromAnother) {
  const Step read_only{.kind = wire::StepKind::kBind, .a = "usr", .b = "/usr", .x = wire::kReadOnly};
  Step writable = read_only;
  writable.x = 0;
  EXPECT_NE(describe(read_only), describe(writable));
  EXPECT_NE(describe(read_only).find("/usr"), std::string::npos);
  EXPECT_NE(describe(Step{.kind = wire::StepKind::kRlimit, .x = 7, .y = 99}).find("99"), std::string::npos);
}

}  // namespace
}  // namespace cloche
