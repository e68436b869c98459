// cloche why: what a run was denied, and which line of a policy would have let it through.
#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/report_source.h"
#include "cli/run_options.h"
#include "report/json.h"
#include "report/render.h"

namespace cloche::cli {
namespace {

constexpr auto kOptions = std::to_array<OptionSpec>({
    {"--json", 'j', {}, "The denials as JSON, as they are in the report"},
    {"--color", 0, "WHEN", "auto, always or never; NO_COLOR is honoured"},
    {"--no-color", 0, {}, "The same as --color never"},
    {"--help", 'h', {}, "This text"},
});

}  // namespace

constinit const Table kWhyCommandOptions = kOptions;

int why_command(Words words) {
  const std::array<Table, 1> tables{kWhyCommandOptions};
  const auto parsed = parse_options(tables, words, Grammar::kMixed);
  if (!parsed) return usage_error(parsed.error(), "why");
  if (parsed->has("--help")) return show_help("why");
  if (parsed->operands.size() > 1) {
    return usage_error(Error{ErrorCode::kInvalidInput, "why", 0, "one run at a time", "cloche why last"}, "why");
  }
  if (!parsed->operands.empty() && parsed->operands.front().empty()) {
    return usage_error(Error{ErrorCode::kInvalidInput, "why", 0, "the name of a run is empty", "cloche why last"},
                       "why");
  }
  const auto report = read_report(parsed->operands.empty() ? "last" : parsed->operands.front());
  if (!report) return complain(report.error(), 1);
  if (parsed->has("--json")) return put(STDOUT_FILENO, denials_json(*report)) ? 0 : kExitFailed;
  const auto options = render_options(*parsed);
  if (!options) return usage_error(options.error(), "why");
  return put(STDOUT_FILENO, render_denials(*report, *options)) ? 0 : kExitFailed;
}

}  // namespace cloche::cli
