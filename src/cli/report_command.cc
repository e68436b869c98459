#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/report_source.h"
#include "cli/run_options.h"
#include "policy/text.h"
#include "report/render.h"
#include "report/schema.h"

namespace cloche::cli {
namespace {

constexpr auto kOptions = std::to_array<OptionSpec>({
    {"--verbose", 'v', {}, "show: whole tails of the output, life cycle and timing"},
    {"--color", 0, "WHEN", "auto, always or never; NO_COLOR is honoured"},
    {"--no-color", 0, {}, "The same as --color never"},
    {"--help", 'h', {}, "This text"},
});

std::unexpected<Error> usage(std::string message, std::string hint) {
  return fail(ErrorCode::kInvalidInput, "report", std::move(message), std::move(hint));
}

int show(const std::string& name, const RenderOptions& options) {
  const auto report = read_report(name);
  if (!report) return complain(report.error(), 1);
  return put(STDOUT_FILENO, render(*report, options)) ? 0 : kExitFailed;
}

}  // namespace

constinit const Table kReportCommandOptions = kOptions;

int report_command(Words words) {
  const std::array<Table, 1> tables{kReportCommandOptions};
  const auto parsed = parse_options(tables, words, Grammar::kMixed);
  if (!parsed) return usage_error(parsed.error(), "report");
  if (parsed->has("--help")) return show_help("report");
  const std::vector<std::string>& operands = parsed->operands;
  constexpr std::array<std::string_view, 2> kVerbs{"show", "schema"};
  if (operands.empty() || (operands.front() != "show" && operands.front() != "schema")) {
    const std::string what =
        operands.empty() ? "what to do is missing" : fmt::format("{} is not known", shown_text(operands.front()));
    return usage_error(usage(what, fmt::format("choose {}", join_quoted(kVerbs))).error(), "report");
  }
  const bool is_show = operands.front() == "show";
  if (operands.size() != (is_show ? 2U : 1U)) {
    return usage_error(
        usage(is_show ? "show takes one file or run" : "schema takes nothing more", "see cloche help report").error(),
        "report");
  }
  if (!is_show) return put(STDOUT_FILENO, report_schema()) ? 0 : kExitFailed;
  const auto options = render_options(*parsed);
  if (!options) return usage_error(options.error(), "report");
  return show(operands[1], *options);
}

}  // namespace cloche::cli
