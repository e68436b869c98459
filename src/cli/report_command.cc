#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/run_options.h"
#include "policy/text.h"
#include "report/json.h"
#include "report/render.h"
#include "report/schema.h"
#include "store/run_directory.h"
#include "sys/file.h"

namespace cloche::cli {
namespace {

constexpr std::size_t kMaxReport = 64 << 20;

constexpr auto kOptions = std::to_array<OptionSpec>({
    {"--verbose", 'v', {}, "show: whole tails of the output, life cycle and timing"},
    {"--color", 0, "WHEN", "auto, always or never; NO_COLOR is honoured"},
    {"--no-color", 0, {}, "The same as --color never"},
    {"--help", 'h', {}, "This text"},
});

std::unexpected<Error> usage(std::string message, std::string hint) {
  return fail(ErrorCode::kInvalidInput, "report", std::move(message), std::move(hint));
}

// A file if there is one of that name, else a run.
Result<std::string> read_report(const std::string& name) {
  auto text = sys::read_file(name, kMaxReport);
  if (text || text.error().errno_value != ENOENT || (name != "last" && !store::is_run_id(name))) return text;
  CLOCHE_TRY_ASSIGN(const store::Place place, store::find_place(read_environment()));
  CLOCHE_TRY_ASSIGN(const store::RunDirectory run, store::find_run(place, name, store::Use::kRead));
  return run.report();
}

int show(const std::string& name, const RenderOptions& options) {
  const auto text = read_report(name);
  if (!text) return complain(text.error(), 1);
  const auto report = from_json(*text);
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
  const std::string when = parsed->has("--no-color") ? "never"
                           : parsed->has("--color")  ? parsed->value("--color")
                                                     : "auto";
  const auto colour = choose_colour(when, STDOUT_FILENO);
  if (!colour) return usage_error(colour.error(), "report");
  return show(operands[1],
              {*colour, parsed->has("--verbose") ? Detail::kDebug : Detail::kNormal, columns_of(STDOUT_FILENO)});
}

}  // namespace cloche::cli
