// cloche grant, cloche revoke: what a live run may reach.
#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/run_options.h"
#include "engine/run_control.h"
#include "report/json_writer.h"
#include "report/text.h"

namespace cloche::cli {
namespace {

using What = egress::Change::What;
using Turn = WayOut::Turn;

constexpr auto kGrantTable = std::to_array<OptionSpec>({
    {"--for", 0, "DURATION", "Ends by itself after this time, such as 30s or 10m; else with the run"},
    {"--json", 'j', {}, "As JSON"},
    {"--help", 'h', {}, "This text"},
});
constexpr auto kRevokeTable = std::to_array<OptionSpec>({
    {"--json", 'j', {}, "As JSON"},
    {"--help", 'h', {}, "This text"},
});

Result<What> read_what(std::string_view word) {
  for (const What what : {What::kHost, What::kSocket, What::kSecret}) {
    if (to_string(what) == word) return what;
  }
  for (const std::string_view file : {"path", "file", "read", "write", "exec"}) {
    if (word != file) continue;
    return fail(ErrorCode::kInvalidInput, "command line",
                "a path is neither granted to a live run nor taken back from it: the kernel does not take back a file that is open",
                "grant it in the policy, for the whole run");
  }
  return fail(ErrorCode::kInvalidInput, "command line",
              fmt::format("{} is none of host, socket, secret", shown_text(word)));
}

Result<egress::Change> read_change(const Parsed& parsed, std::string_view command) {
  const auto& words = parsed.operands;
  // A path is refused with its own sentence, however many words come with it.
  if (words.size() >= 2) CLOCHE_TRY(read_what(words[1]));
  if (words.size() != 3) {
    return fail(ErrorCode::kInvalidInput, "command line", fmt::format("{} takes three words", command),
                fmt::format("write cloche {} RUN host api.example.org:443; cloche ps lists the runs", command));
  }
  egress::Change change;
  CLOCHE_TRY_ASSIGN(change.what, read_what(words[1]));
  change.text = words[2];
  if (parsed.has("--for")) {
    const auto lasts = parse_duration(parsed.value("--for"));
    if (!lasts) return fail(ErrorCode::kInvalidInput, "--for", lasts.error().message, "write --for 10m");
    change.lasts = *lasts;
  }
  CLOCHE_TRY(check_change(change));
  return change;
}

std::string as_text(const Asked& asked, const egress::Change& change, Turn turn) {
  const std::string thing = fmt::format("{} {}", to_string(change.what), printable(change.text));
  if (turn == Turn::kRevoke) return fmt::format("took {} back from run {}\n", thing, asked.id);
  const std::string until = change.lasts ? " for " + to_text(*change.lasts) : std::string();
  return fmt::format("granted {} to run {}{}\n", thing, asked.id, until);
}

std::string as_json(const Asked& asked, const egress::Change& change, Turn turn) {
  JsonWriter json;
  json.begin_object();
  json.member("run", asked.id);
  json.member("change", turn == Turn::kGrant ? "granted" : "revoked");
  json.member("what", to_string(change.what));
  json.member("text", change.text);
  if (change.lasts) json.member("for_ms", change.lasts->count());
  json.end_object();
  return json.take() + "\n";
}

int change_command(Words words, Table table, std::string_view command, Turn turn) {
  const std::array<Table, 1> tables{table};
  const auto parsed = parse_options(tables, words, Grammar::kMixed);
  if (!parsed) return usage_error(parsed.error(), command);
  if (parsed->has("--help")) return show_help(command);
  const auto change = read_change(*parsed, command);
  if (!change) return usage_error(change.error(), command);
  const auto asked = ask_run(read_environment(), parsed->operands.front(), turn, *change);
  if (!asked) return complain(asked.error(), exit_code_of(asked.error()));
  if (!asked->problem.empty()) {
    return complain({ErrorCode::kRefused, "run " + asked->id, 0, printable(asked->problem), {}}, kExitRefused);
  }
  const std::string text = parsed->has("--json") ? as_json(*asked, *change, turn) : as_text(*asked, *change, turn);
  return put(STDOUT_FILENO, text) ? 0 : kExitFailed;
}

}  // namespace

constinit const Table kGrantOptions = kGrantTable;
constinit const Table kRevokeOptions = kRevokeTable;

int grant_command(Words words) { return change_command(words, kGrantOptions, "grant", Turn::kGrant); }
int revoke_command(Words words) { return change_command(words, kRevokeOptions, "revoke", Turn::kRevoke); }

}  // namespace cloche::cli
