#include <unistd.h>

#include <algorithm>
#include <array>

#include "cli/commands.h"
#include "cli/console.h"
#include "host/probe.h"
#include "plan/doctor.h"

namespace cloche::cli {
namespace {

constexpr auto kOptions = std::to_array<OptionSpec>({
    {"--json", 'j', {}, "As JSON"},
    {"--color", 0, "WHEN", "auto, always or never; NO_COLOR is honoured"},
    {"--no-color", 0, {}, "The same as --color never"},
    {"--help", 'h', {}, "This text"},
});

}  // namespace

constinit const Table kDoctorOptions = kOptions;

int doctor_command(Words words) {
  const std::array<Table, 1> tables{kDoctorOptions};
  const auto parsed = parse_options(tables, words, Grammar::kMixed);
  if (!parsed) return usage_error(parsed.error(), "doctor");
  if (parsed->has("--help")) return show_help("doctor");
  if (!parsed->operands.empty()) {
    return usage_error({ErrorCode::kInvalidInput, "command line", 0, "doctor takes no operand", {}}, "doctor");
  }
  const std::string when = parsed->has("--no-color") ? "never"
                           : parsed->has("--color")  ? parsed->value("--color")
                                                     : "auto";
  const auto colour = choose_colour(when, STDOUT_FILENO);
  if (!colour) return usage_error(colour.error(), "doctor");

  const DoctorReport report = examine(probe_full());
  if (!put(STDOUT_FILENO, parsed->has("--json") ? to_json(report) : render(report, *colour))) return kExitFailed;
  const bool usable = std::any_of(report.entries.begin(), report.entries.end(), [](const DoctorEntry& entry) {
    return entry.backend == Backend::kNamespace && entry.usable();
  });
  return usable ? 0 : 1;
}

}  // namespace cloche::cli
