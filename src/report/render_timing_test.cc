#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/render.h"

namespace cloche {
namespace {

using std::chrono::microseconds;
using testing::HasSubstr;
using testing::Not;

Report with_steps(std::vector<TimingStep> steps) {
  Report report;
  report.timing = std::move(steps);
  return report;
}

RenderOptions plain(std::size_t columns) {
  RenderOptions options;
  options.columns = columns;
  options.colour = Colour::kNever;
  return options;
}

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t out = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; at += part.size()) ++out;
  return out;
}

TEST(RenderTiming, NothingMeasuredIsNothingShown) { EXPECT_EQ(render_timing(Report{}, plain(80)), ""); }

TEST(RenderTiming, BarsAreInProportionAndTheLongestFillsTheRoom) {
  const Report report = with_steps({{"spawn", microseconds(50)}, {"guest", microseconds(100)}});
  const std::string text = render_timing(report, plain(68));
  EXPECT_EQ(count_of(text.substr(0, text.find('\n')), "█"), 20u);
  EXPECT_EQ(count_of(text, "█"), 60u);
  EXPECT_THAT(text, HasSubstr("all                150 µs"));
}

TEST(RenderTiming, FirstOutputIsHollowAndNotCounted) {
  const Report report = with_steps({{std::string(kFirstOutput), microseconds(90)}, {"guest", microseconds(100)}});
  const std::string text = render_timing(report, plain(68));
  EXPECT_EQ(count_of(text, "░"), 36u);
  EXPECT_EQ(count_of(text, "█"), 40u);
  EXPECT_THAT(text, HasSubstr("all                100 µs"));
}

TEST(RenderTiming, ShortStepsAreSeenAndEmptyOnesHaveNoBar) {
  const Report report =
      with_steps({{"none", microseconds(0)}, {"short", microseconds(1)}, {"long", microseconds(100'000)}});
  EXPECT_EQ(count_of(render_timing(report, plain(80)), "▏"), 1u);
  EXPECT_EQ(count_of(render_timing(with_steps({{"none", microseconds(0)}}), plain(80)), "█"), 0u);
}

TEST(RenderTiming, NarrowTerminalsGetBarsToo) {
  const std::string text = render_timing(with_steps({{"guest", microseconds(5)}}), plain(0));
  EXPECT_EQ(count_of(text, "█"), 20u);
}

TEST(RenderTiming, ColourOnlyWhenAskedFor) {
  const Report report = with_steps({{"guest", microseconds(5)}});
  EXPECT_THAT(render_timing(report, plain(80)), Not(HasSubstr("\033")));
  RenderOptions options = plain(80);
  options.colour = Colour::kAlways;
  EXPECT_EQ(count_of(render_timing(report, options), "\033["), 2u);
}

TEST(RenderTiming, NamesCannotSpeakToTheTerminal) {
  EXPECT_THAT(render_timing(with_steps({{"a\033[2Jb", microseconds(5)}}), plain(80)), Not(HasSubstr("\033")));
}

}  // namespace
}  // namespace cloche
