// Where a run's time went, as bars.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "report/render.h"
#include "report/text.h"

namespace cloche {

std::string render_timing(const Report& report, const RenderOptions& options) {
  if (report.timing.empty()) return {};
  constexpr std::size_t kBeside = 28;  // name, number and the blanks between them
  const std::size_t room = std::max<std::size_t>(options.columns, 48) - kBeside;
  std::chrono::microseconds longest{1};
  std::chrono::microseconds total{0};
  for (const TimingStep& step : report.timing) {
    longest = std::max(longest, step.took);
    if (step.name != kFirstOutput) total += step.took;
  }
  const bool colour = options.colour == Colour::kAlways;
  std::string out;
  for (const TimingStep& step : report.timing) {
    const auto cells = static_cast<std::size_t>(step.took.count()) * room / static_cast<std::size_t>(longest.count());
    // First output overlaps the guest's own time: drawn hollow, and not part of the sum.
    const bool beside = step.name == kFirstOutput;
    std::string bar;
    for (std::size_t i = 0; i < cells; ++i) bar += beside ? "░" : "█";
    if (bar.empty() && step.took.count() > 0) bar = "▏";
    out += fmt::format("  {:<13} {:>8} µs {}{}{}\n", printable(step.name), step.took.count(), colour ? "\033[36m" : "",
                       bar, colour ? "\033[0m" : "");
  }
  out += fmt::format("  {:<13} {:>8} µs\n", "all", total.count());
  return out;
}

}  // namespace cloche
