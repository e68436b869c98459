#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <optional>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/learn_output.h"
#include "cli/learn_session.h"
#include "cli/report_file.h"
#include "cli/terminal.h"
#include "policy/presets.h"

namespace cloche::cli {
namespace {

constexpr auto kOptions = std::to_array<OptionSpec>({
    {"--output", 'o', "FILE", "Writes the policy there instead of to stdout"},
    {"--force", 'f', {}, "With --output: in place of a file that is there"},
    {"--merge", 'm', "FILE", "Widens this policy by what the command needs and it does not grant; shows a diff, asks"},
    {"--yes", 'y', {}, "With --merge: does not ask"},
    {"--direct", 0, {}, "The policy lets changes through to the host (files.write); else they are proposals"},
    {"--any-exit", 0, {}, "Takes a command that ends with another exit code than 0"},
    {"--tries", 0, "NUMBER", "Runs at most, to find out what can be left out; 60 if it is not given"},
    {"--time", 0, "DURATION", "Time at most for those; 10m if it is not given"},
    {"--preset", 'p', "NAME", "Policy to start from: untrusted (the default), adapter, dev"},
    {"--policy", 'P', "FILE", "Policy file (TOML) to start from; what is learnt extends it"},
    {"--ceiling", 0, "FILE", "What no policy may exceed, in addition to /etc/cloche/ceiling.toml", {}, Times::kMany},
    {"--read", 'r', "PATH", "It may read this, also a place of secrets; stays in the policy", {}, Times::kMany},
    {"--exec", 'x', "PATH", "It may read and execute this; stays in the policy", {}, Times::kMany},
    {"--workspace", 'W', "DIR", "It may change this directory; stays in the policy", {}, Times::kMany},
    {"--allow-net", 0, "RULE", "Hosts that it may reach meanwhile; the policy gets those it did", {}, Times::kMany},
    {"--deny-net", 0, "RULE", "Never this one", {}, Times::kMany},
    {"--socket", 0, "PATH[=METHODS]", "Sockets that it may reach meanwhile; the policy gets those", {}, Times::kMany},
    {"--env", 'e', "NAME=VALUE", "Sets a variable for it; stays in the policy", {}, Times::kMany},
    {"--pass",
     0,
     "NAME",
     "Passes this variable and no other; else what is neither secret-like nor dangerous is tried",
     {},
     Times::kMany},
    {"--cwd", 'C', "PATH", "Working directory inside the cell", "cwd"},
    {"--wall", 0, "DURATION", "Wall-clock time of one run", "limits.wall"},
    {"--cpu-time", 0, "DURATION", "Processor time of one run", "limits.cpu_time"},
    {"--memory", 0, "SIZE", "Memory of one run", "limits.memory"},
    {"--pids", 0, "NUMBER", "Processes and threads of one run", "limits.pids"},
    {"--disk", 0, "SIZE", "Bytes that one run can write", "limits.disk"},
    {"--inodes", 0, "NUMBER", "Files and directories that one run can make", "limits.inodes"},
    {"--limits-mode", 0, "MODE", "require, or best-effort where this host cannot enforce a limit", "limits.mode"},
    {"--set", 0, "KEY=VALUE", "Any other key of the policy with a single value", {}, Times::kMany},
    {"--lang", 'l', "NAME", "Language of the script: python, node, sh, bash, ruby, perl, lua"},
    {"--json", 'j', {}, "What was learnt as JSON on stdout, with the policy in it"},
    {"--quiet", 'q', {}, "Says only what went wrong"},
    {"--help", 'h', {}, "This text"},
});

std::unexpected<Error> usage(std::string step, std::string message, std::string hint) {
  return fail(ErrorCode::kInvalidInput, std::move(step), std::move(message), std::move(hint));
}

Result<std::size_t> read_tries(const std::string& text) {
  constexpr std::size_t kMost = 10'000;
  std::size_t out = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || out > kMost)
      return usage("--tries", shown_text(text) + " is not a number of runs", "write --tries 100");
    out = out * 10 + static_cast<std::size_t>(c - '0');
  }
  if (text.empty() || out > kMost)
    return usage("--tries", shown_text(text) + " is not a number of runs", "write --tries 100");
  return out;
}

// What has no meaning without another option is a mistake, and what was meant by it would not be done.
Status check_words(const Parsed& p) {
  if (p.has("--yes") && !p.has("--merge")) {
    return usage("--yes", "there is nothing to ask without --merge",
                 "leave it out, or widen a policy with --merge FILE");
  }
  if (p.has("--force") && !p.has("--output")) {
    return usage("--force", "there is no file to replace without --output", "leave it out, or name one: --output FILE");
  }
  if (p.has("--merge") && (p.has("--policy") || p.has("--preset") || p.has("--output") || p.has("--json"))) {
    return usage("--merge", "the file that is widened is where it starts from and what it writes",
                 "leave out --policy, --preset, --output and --json");
  }
  if (p.has("--merge") && ::access(p.value("--merge").c_str(), R_OK | W_OK) != 0) {
    return std::unexpected(Error{ErrorCode::kInvalidInput, "--merge", errno,
                                 shown_text(p.value("--merge")) + " cannot be read and written",
                                 "name a policy file; --output writes a new one"});
  }
  if (p.has("--output") && !p.has("--force") && ::access(p.value("--output").c_str(), F_OK) == 0) {
    return usage("--output", shown_text(p.value("--output")) + " exists", "--force replaces it; --merge widens it");
  }
  return {};
}

Result<LearnOptions> read_options(const RunArgs& args) {
  const Parsed& p = args.parsed;
  CLOCHE_TRY(check_words(p));
  LearnOptions out;
  if (p.has("--tries")) {
    CLOCHE_TRY_ASSIGN(out.tries, read_tries(p.value("--tries")));
  }
  if (p.has("--time")) {
    CLOCHE_TRY_ASSIGN(out.time, parse_duration(p.value("--time")));
  }
  out.any_exit = p.has("--any-exit");
  out.quiet = p.has("--quiet");
  if (p.has("--direct")) out.changes = learn::Changes::kDirect;
  out.widens = p.has("--merge");
  if (p.has("--preset")) out.preset = p.value("--preset");
  const std::string file = out.widens ? p.value("--merge") : p.value("--policy");
  if (!file.empty()) {
    std::error_code error;
    out.policy_file = std::filesystem::absolute(file, error).lexically_normal().string();
  }
  return out;
}

int refuse(const LearnEnd& end) {
  if (end.error) complain(*end.error, end.exit_code);
  put(STDERR_FILENO, wanted_text(end.learnt.wanted));
  return end.exit_code;
}

}  // namespace

constinit const Table kLearnOptions = kOptions;

int learn_command(Words words) {
  const std::array<Table, 1> tables{kLearnOptions};
  const auto args = read_run_args(words, tables);
  if (!args) return usage_error(args.error(), "learn");
  if (args->parsed.has("--help")) return show_help("learn");
  const auto options = read_options(*args);
  if (!options) return usage_error(options.error(), "learn");
  std::optional<ReportFile> file;
  const char* const place = options->widens ? "--merge" : "--output";
  if (const std::string path = args->parsed.value(place); !path.empty()) {
    auto prepared = ReportFile::prepare(path, place);
    if (!prepared) return usage_error(prepared.error(), "learn");
    file = std::move(*prepared);
  }
  ignore_broken_pipes();
  ::prctl(PR_SET_DUMPABLE, 0);
  auto cancel = cancel_signals();
  if (!cancel) return complain(cancel.error(), kExitFailed);
  const Environment env = read_environment();
  const LearnEnd end = LearnSession(*args, *options, env, std::move(*cancel)).learn();
  if (end.exit_code != 0) return refuse(end);

  if (options->widens) {
    const auto answer = args->parsed.has("--yes") ? MergeAnswer::kYes : MergeAnswer::kAsk;
    return write_merged(end, options->policy_file, *file, answer);
  }
  const auto text = checked_text(end.learnt);
  if (!text) return complain(text.error(), kExitFailed);
  if (file) {
    if (Status written = file->write(*text); !written) return complain(written.error(), kExitFailed);
  }
  if (args->parsed.has("--json")) {
    if (!put(STDOUT_FILENO, learn_json(end, *text))) return kExitFailed;
  } else if (!file && !put(STDOUT_FILENO, *text)) {
    return kExitFailed;
  }
  if (!options->quiet) put(STDERR_FILENO, summary_text(end));
  return 0;
}

}  // namespace cloche::cli
