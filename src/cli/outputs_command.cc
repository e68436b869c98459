#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/outputs_work.h"
#include "cli/own_key.h"
#include "cli/run_options.h"
#include "cli/run_outputs.h"
#include "cli/terminal.h"
#include "policy/text.h"
#include "store/files.h"
#include "store/run_directory.h"
#include "sys/file.h"

namespace cloche::cli {
namespace {

constexpr auto kOptions = std::to_array<OptionSpec>({
    {"--into", 0, "DIR", "diff, apply: the target; a directory and no link to one"},
    {"--producer", 0, "NAME", "diff, apply: who hands them back, such as a plugin's name"},
    {"--prune", 0, {}, "diff, apply: delete what NAME does not hand back any more, unless it was edited"},
    {"--skip-conflicts", 0, {}, "diff, apply: leave what is in conflict alone and write the rest"},
    {"--force", 0, {}, "diff, apply: overwrite edited files and those of others, and own them"},
    {"--allow-protected", 0, {}, "diff, apply: also names that other programs run or obey, such as .bashrc"},
    {"--dry-run", 'n', {}, "apply: say what would be done, and do nothing"},
    {"--max-count", 0, "NUMBER", "diff, apply: files in one document (10000; at most 50000)"},
    {"--max-body", 0, "SIZE", "diff, apply: content of one file (16M)"},
    {"--max-size", 0, "SIZE", "diff, apply: the whole document (64M; at most 1G)"},
    {"--json", 'j', {}, "What is or would be done, or the status, as JSON on stdout"},
    {"--color", 0, "WHEN", "auto, always or never; NO_COLOR is honoured"},
    {"--no-color", 0, {}, "The same as --color never"},
    {"--help", 'h', {}, "This text"},
});

constexpr std::size_t kMostCount = 50'000;
constexpr std::array<std::string_view, 4> kVerbs{"diff", "apply", "status", "forget"};
// Options that mean nothing to status and forget are refused there, not ignored.
constexpr auto kOnlySets =
    std::to_array<std::string_view>({"--into", "--producer", "--prune", "--skip-conflicts", "--force",
                                     "--allow-protected", "--dry-run", "--max-count", "--max-body", "--max-size"});

std::unexpected<Error> usage(std::string message, std::string hint = {}) {
  return fail(ErrorCode::kInvalidInput, "outputs", std::move(message), std::move(hint));
}

Result<outputs::Look> choose_look(const Parsed& parsed) {
  const std::string when = parsed.has("--no-color") ? "never"
                           : parsed.has("--color")  ? parsed.value("--color")
                                                    : "auto";
  CLOCHE_TRY_ASSIGN(const Colour colour, choose_colour(when, STDOUT_FILENO));
  if (colour == Colour::kAlways) return outputs::Look::kColour;
  return ::isatty(STDOUT_FILENO) == 1 ? outputs::Look::kHarmless : outputs::Look::kExact;
}

Result<Bytes> size_of(const Parsed& parsed, std::string_view option, Bytes otherwise) {
  if (!parsed.has(option)) return otherwise;
  auto size = parse_bytes(parsed.value(option));
  if (size && size->count > 0 && *size <= gibibytes(1)) return *size;
  return fail(ErrorCode::kInvalidInput, std::string(option),
              fmt::format("{} is no size from 1 to 1G", shown_text(parsed.value(option))));
}

Result<outputs::Limits> read_limits(const Parsed& parsed) {
  outputs::Limits limits;
  CLOCHE_TRY_ASSIGN(limits.body, size_of(parsed, "--max-body", limits.body));
  CLOCHE_TRY_ASSIGN(limits.whole, size_of(parsed, "--max-size", limits.whole));
  if (!parsed.has("--max-count")) return limits;
  const std::string text = parsed.value("--max-count");
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limits.count);
  if (error == std::errc() && end == text.data() + text.size() && limits.count > 0 && limits.count <= kMostCount) {
    return limits;
  }
  return fail(ErrorCode::kInvalidInput, "--max-count",
              fmt::format("{} is no number from 1 to {}", shown_text(text), kMostCount));
}

// What `cloche run --outputs` kept.
Result<std::string> read_kept(const std::string& run, std::size_t limit) {
  CLOCHE_TRY_ASSIGN(const store::Place place, store::find_place(read_environment()));
  CLOCHE_TRY_ASSIGN(const store::RunDirectory found, store::find_run(place, run, store::Use::kRead));
  auto text = store::read_in(found.fd(), kKeptOutputs, limit);
  if (text) return text;
  Error error = text.error();
  error.step = "run " + found.id();
  if (error.errno_value == ENOENT) {
    error = {ErrorCode::kNotFound, error.step, 0, "it keeps no outputs", "`cloche ps --all` shows what runs keep"};
  }
  return std::unexpected(std::move(error));
}

// A file if there is one of that name, else a run.
Result<std::string> read_document(const std::string& name, std::size_t limit) {
  if (name == "-") return read_up_to(STDIN_FILENO, limit, "standard input");
  auto file = sys::open_file(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (file) return read_up_to(file->get(), limit, shown_text(name));
  if (file.error().errno_value != ENOENT) return std::unexpected(file.error());
  if (store::is_run_id(name)) return read_kept(name, limit);
  return fail(ErrorCode::kNotFound, "outputs", fmt::format("{} is neither a file nor a run", shown_text(name)),
              "`cloche ps --all` lists the runs");
}

Result<OutputsWork> read_work(const Parsed& parsed, outputs::Look look) {
  OutputsWork work;
  if (!parsed.has("--into")) return usage("--into is missing", "name the directory that the files go to");
  if (!parsed.has("--producer")) return usage("--producer is missing", "name who hands the files back");
  CLOCHE_TRY_ASSIGN(work.terms, read_terms(parsed));
  CLOCHE_TRY_ASSIGN(work.limits, read_limits(parsed));
  const bool apply = parsed.operands.front() == "apply";
  if (!apply && parsed.has("--dry-run")) return usage("diff never writes", "leave --dry-run out");
  if (parsed.operands.size() != 2)
    return usage("one document is needed", "name a file, a run, or - for standard input");
  work.what = !apply                    ? OutputsWork::Do::kShow
              : parsed.has("--dry-run") ? OutputsWork::Do::kTry
                                        : OutputsWork::Do::kApply;
  work.json = parsed.has("--json");
  // The difference alone on stdout, so that it can be kept as a patch.
  work.difference = !apply;
  if (!apply) work.summary_fd = STDERR_FILENO;
  work.look = look;
  return work;
}

int diff_or_apply(const Parsed& parsed, outputs::Look look) {
  auto work = read_work(parsed, look);
  if (!work) return usage_error(work.error(), "outputs");
  auto target = outputs::open_target(parsed.value("--into"));
  if (!target) return outputs_error(target.error());
  work->target = std::move(*target);
  const auto document = read_document(parsed.operands[1], work->limits.whole.count);
  if (!document) return outputs_error(document.error());
  return do_outputs(*work, *document).exit_code;
}

int status(const Parsed& parsed, outputs::Look look) {
  if (parsed.operands.size() != 2) return usage_error(usage("status takes one directory").error(), "outputs");
  const auto target = outputs::open_target(parsed.operands[1]);
  if (!target) return outputs_error(target.error());
  if (auto recovered = recover_aloud(target->get()); !recovered) return outputs_error(recovered.error());
  const auto files = outputs::managed_files(target->get());
  if (!files) return outputs_error(files.error());
  const std::string text = parsed.has("--json") ? outputs::status_json(*files) : outputs::status_text(*files, look);
  return put(STDOUT_FILENO, text) ? 0 : kExitFailed;
}

int forget(const Parsed& parsed) {
  if (parsed.operands.size() < 3) {
    return usage_error(usage("forget takes a directory and the files to forget").error(), "outputs");
  }
  const auto target = outputs::open_target(parsed.operands[1]);
  if (!target) return outputs_error(target.error());
  if (auto recovered = recover_aloud(target->get()); !recovered) return outputs_error(recovered.error());
  const Status done = outputs::forget(target->get(), std::span(parsed.operands).subspan(2), own_key());
  return done ? 0 : outputs_error(done.error());
}

// What the verb cannot mean.
Status check_verb(const Parsed& parsed) {
  const std::string verb = parsed.operands.empty() ? "" : parsed.operands.front();
  if (std::ranges::find(kVerbs, verb) == kVerbs.end()) {
    return usage(verb.empty() ? "what to do is missing" : fmt::format("{} is not known", shown_text(verb)),
                 fmt::format("choose {}", join_quoted(kVerbs)));
  }
  if (verb == "diff" || verb == "apply") return {};
  for (const std::string_view option : kOnlySets) {
    if (parsed.has(option)) return usage(fmt::format("{} takes no {}", verb, option));
  }
  if (verb == "forget" && parsed.has("--json")) return usage("forget takes no --json");
  return {};
}

}  // namespace

constinit const Table kOutputsOptions = kOptions;

int outputs_command(Words words) {
  const std::array<Table, 1> tables{kOutputsOptions};
  const auto parsed = parse_options(tables, words, Grammar::kMixed);
  if (!parsed) return usage_error(parsed.error(), "outputs");
  if (parsed->has("--help")) return show_help("outputs");
  if (auto known = check_verb(*parsed); !known) return usage_error(known.error(), "outputs");
  const auto look = choose_look(*parsed);
  if (!look) return usage_error(look.error(), "outputs");
  ignore_broken_pipes();
  const std::string& verb = parsed->operands.front();
  if (verb == "status") return status(*parsed, *look);
  if (verb == "forget") return forget(*parsed);
  return diff_or_apply(*parsed, *look);
}

}  // namespace cloche::cli
