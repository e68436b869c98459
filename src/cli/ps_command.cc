#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/run_options.h"
#include "report/json_writer.h"
#include "report/text.h"
#include "store/listing.h"
#include "store/live.h"

namespace cloche::cli {
namespace {

using store::ListedRun;
using store::Moment;
using store::RunState;

constexpr auto kOptions = std::to_array<OptionSpec>({
    {"--all", 'a', {}, "Also runs that are over, and those that crashed; newest first"},
    {"--json", 'j', {}, "As JSON"},
    {"--help", 'h', {}, "This text"},
});

// In one unit, as a list wants it.
std::string age_text(Millis age) {
  const auto seconds = std::max<std::int64_t>(std::chrono::floor<std::chrono::seconds>(age).count(), 0);
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  constexpr std::int64_t kDay = 24 * kHour;
  if (seconds < kMinute) return fmt::format("{}s", seconds);
  if (seconds < kHour) return fmt::format("{}m", seconds / kMinute);
  if (seconds < 2 * kDay) return fmt::format("{}h", seconds / kHour);
  return fmt::format("{}d", seconds / kDay);
}

std::string local_time(Moment moment) {
  const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(moment).time_since_epoch().count();
  std::tm parts{};
  char text[64];
  if (::localtime_r(&seconds, &parts) == nullptr) return "?";
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return {text, size};
}

std::string_view state_name(RunState state) {
  switch (state) {
    case RunState::kRunning:
      return "running";
    case RunState::kDone:
      return "done";
    case RunState::kCrashed:
      return "crashed";
  }
  return "?";
}

std::string state_text(const ListedRun& run) {
  if (run.state != RunState::kDone) return std::string(state_name(run.state));
  return fmt::format("{} {}", fit(printable(run.file->end->outcome), 16), run.file->end->exit_code);
}

std::string keeps_text(const ListedRun& run) {
  std::string out;
  for (const std::string& one : run.file->facts.keeps) out += (out.empty() ? "" : ",") + printable(one);
  return out.empty() ? "-" : fit(out, 40);
}

using Row = std::vector<std::string>;

// The last column is cut at the edge of a terminal; elsewhere it is whole.
std::string table_text(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::size_t left = ::isatty(STDOUT_FILENO) == 1 ? columns_of(STDOUT_FILENO) : 0;
  for (std::size_t i = 0; i + 1 < widths.size() && left != 0; ++i) left -= std::min(left - 1, widths[i] + 2);
  std::string out;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) out += pad(row[i], widths[i]) + "  ";
    out += (left == 0 ? row.back() : fit(row.back(), left)) + "\n";
  }
  return out;
}

std::string running_text(const std::vector<ListedRun>& runs, Moment now) {
  std::vector<Row> rows{{"ID", "STARTED", "AGE", "PID", "COMMAND"}};
  for (const ListedRun& run : runs) {
    rows.push_back({run.id, local_time(run.file->started), age_text(now - run.file->started),
                    std::to_string(run.file->pid), printable_command(run.file->facts.argv)});
  }
  return table_text(rows);
}

std::string all_text(const std::vector<ListedRun>& runs, Moment now) {
  std::vector<Row> rows{{"ID", "AGE", "STATE", "SIZE", "KEEPS", "COMMAND"}};
  for (const ListedRun& run : runs) {
    rows.push_back({run.id, age_text(now - run.file->started), state_text(run), human(run.size), keeps_text(run),
                    printable_command(run.file->facts.argv)});
  }
  return table_text(rows);
}

void write_run(JsonWriter& json, const ListedRun& run) {
  const store::RunFile& file = *run.file;
  json.begin_object();
  json.member("id", run.id);
  json.member("state", state_name(run.state));
  json.member("pid", file.pid);
  json.member("started_ms", file.started.time_since_epoch().count());
  json.strings("argv", file.facts.argv);
  json.member("policy", file.facts.policy);
  json.member("tier", file.facts.tier);
  json.strings("keeps", file.facts.keeps);
  json.member("size_bytes", run.size.count);
  if (file.end) {
    json.member("ended_ms", file.ended.time_since_epoch().count());
    json.member("outcome", file.end->outcome);
    json.member("exit_code", file.end->exit_code);
  }
  json.end_object();
}

std::string runs_json(const std::vector<ListedRun>& runs) {
  JsonWriter json;
  json.begin_object();
  json.name("runs").begin_array();
  for (const ListedRun& run : runs) write_run(json, run);
  json.end_array();
  json.end_object();
  return json.take() + "\n";
}

}  // namespace

constinit const Table kPsOptions = kOptions;

int ps_command(Words words) {
  const std::array<Table, 1> tables{kPsOptions};
  const auto parsed = parse_options(tables, words, Grammar::kMixed);
  if (!parsed) return usage_error(parsed.error(), "ps");
  if (parsed->has("--help")) return show_help("ps");
  if (!parsed->operands.empty()) {
    return usage_error({ErrorCode::kInvalidInput, "command line", 0, "ps takes no operands", {}}, "ps");
  }
  const auto place = store::find_place(read_environment());
  if (!place) return complain(place.error(), exit_code_of(place.error()));
  store::sweep_live(*place);
  auto runs = store::list_runs(*place, store::Measure::kNo);
  if (!runs) return complain(runs.error(), exit_code_of(runs.error()));
  const bool all = parsed->has("--all");
  // What was killed before its first file was written has nothing to show; gc finds it.
  std::erase_if(*runs, [&](const ListedRun& run) { return !run.file || (!all && run.state != RunState::kRunning); });
  const auto folders = store::open_folders(*place);
  for (ListedRun& run : *runs) {
    if (folders && run.shape == store::RunShape::kDirectory) run.size = store::size_of(folders->runs.get(), run.id);
  }
  const Moment now = store::moment_now();
  const std::string text = parsed->has("--json") ? runs_json(*runs)
                           : all                 ? all_text(*runs, now)
                                                 : running_text(*runs, now);
  return put(STDOUT_FILENO, text) ? 0 : kExitFailed;
}

}  // namespace cloche::cli
