#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ranges>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "host/probe.h"
#include "keeper/client.h"
#include "keeper/place.h"
#include "keeper/starter.h"

namespace cloche::cli {
namespace {

constexpr auto kOptions = std::to_array<OptionSpec>({
    {"--blank", 0, "NUMBER", "start: cells that wait for any policy (2)"},
    {"--parked", 0, "NUMBER", "start: cells that wait for a policy that was used twice (2)"},
    {"--idle", 0, "DURATION", "start: ends when nobody asked for so long (15m; 0s: never)"},
    {"--no-attendant", 0, {}, "start: cells only; each command does its run itself, as without a keeper"},
    {"--json", 'j', {}, "status: as JSON"},
    {"--help", 'h', {}, "This text"},
});

constexpr std::size_t kMostCells = 256;

Result<std::size_t> count_of(const Parsed& parsed, std::string_view option, std::size_t otherwise) {
  if (!parsed.has(option)) return otherwise;
  const std::string text = parsed.value(option);
  std::size_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size() || out > kMostCells) {
    return fail(ErrorCode::kInvalidInput, std::string(option), fmt::format("'{}' is not a number from 0 to 256", text));
  }
  return out;
}

int start(const Parsed& parsed) {
  auto blank = count_of(parsed, "--blank", 2);
  if (!blank) return usage_error(blank.error(), "keeper");
  auto parked = count_of(parsed, "--parked", 2);
  if (!parked) return usage_error(parked.error(), "keeper");
  Millis idle = std::chrono::minutes(15);
  if (parsed.has("--idle")) {
    auto given = parse_duration(parsed.value("--idle"));
    if (!given) return usage_error(given.error(), "keeper");
    idle = *given;
  }
  const HostFacts host = probe_fast();
  if (!host.init) {
    return complain({ErrorCode::kNotFound, "keeper", 0, "cloche-init was not found", "reinstall Cloche"}, kExitFailed);
  }
  const auto seconds = static_cast<unsigned>((idle.count() + 999) / 1000);
  const Status started = keeper::start_resident(
      keeper::program_beside(*host.init),
      {keeper::default_directory(), {*blank, *parked}, seconds, parsed.has("--no-attendant") ? "" : own_program()});
  return started ? 0 : complain(started.error(), exit_code_of(started.error()));
}

std::string as_json(std::string_view lines) {
  std::string out = "{";
  for (const auto part : std::views::split(lines, '\n')) {
    const std::string_view line(part.begin(), part.end());
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) continue;
    std::string name(line.substr(0, space));
    std::replace(name.begin(), name.end(), '-', '_');
    out += fmt::format("{}\"{}\": {}", out.size() > 1 ? ", " : "", name, line.substr(space + 1));
  }
  return out + "}\n";
}

int status(const Parsed& parsed) {
  auto client = keeper::Client::connect(keeper::default_directory());
  if (!client && client.error().code == ErrorCode::kNotFound) {
    if (parsed.has("--json")) put(STDOUT_FILENO, "null\n");
    return complain({ErrorCode::kNotFound, "keeper", 0, "none runs", "'cloche keeper start' starts one"}, 1);
  }
  if (!client) return complain(client.error(), exit_code_of(client.error()));
  auto text = client->status();
  if (!text) return complain(text.error(), exit_code_of(text.error()));
  put(STDOUT_FILENO, parsed.has("--json") ? as_json(*text) : *text);
  return 0;
}

int stop() {
  constexpr int kAttempts = 3;
  for (int attempt = 1;; ++attempt) {
    // It is told nothing but to end, also where it cannot be looked at.
    auto client = keeper::Client::connect_to_anybody(keeper::default_directory());
    if (!client && client.error().code == ErrorCode::kNotFound) return 0;
    if (!client && attempt == kAttempts) return complain(client.error(), exit_code_of(client.error()));
    if (!client) continue;
    const Status stopped = client->stop();
    if (stopped) return 0;
    // Somebody else may have told it before: it hangs up on all who come then, and is gone.
    if (attempt == kAttempts) return complain(stopped.error(), exit_code_of(stopped.error()));
  }
}

}  // namespace

constinit const Table kKeeperOptions = kOptions;

int keeper_command(Words words) {
  const std::array<Table, 1> tables{kKeeperOptions};
  const auto parsed = parse_options(tables, words, Grammar::kMixed);
  if (!parsed) return usage_error(parsed.error(), "keeper");
  if (parsed->has("--help")) return show_help("keeper");
  const std::string_view verb = parsed->operands.size() == 1 ? std::string_view(parsed->operands.front()) : "";
  if (verb == "start") return start(*parsed);
  if (verb == "stop") return stop();
  if (verb == "status") return status(*parsed);
  return usage_error({ErrorCode::kInvalidInput, "command line", 0, "keeper takes one of start, stop, status", {}},
                     "keeper");
}

}  // namespace cloche::cli
