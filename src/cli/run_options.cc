#include "cli/run_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/units.h"
#include "engine/script.h"
#include "policy/check.h"
#include "policy/overrides.h"
#include "policy/presets.h"
#include "sys/file.h"

namespace cloche::cli {
namespace {

constexpr auto kPolicy = std::to_array<OptionSpec>({
    {"--preset", 'p', "NAME", "Policy to start from: untrusted (the default), adapter, dev"},
    {"--policy", 'P', "FILE", "Policy file (TOML) instead of a preset"},
    {"--ceiling",
     0,
     "FILE",
     "What no policy may exceed, in addition to /etc/cloche/ceiling.toml and CLOCHE_CEILING",
     {},
     Times::kMany},
    {"--tier", 0, "TIER", "The least tier: process, namespace", "tier"},
    {"--backend", 0, "NAME", "auto, native, bwrap or none", "backend"},
    {"--wall", 0, "DURATION", "Wall-clock time, such as 10s", "limits.wall"},
    {"--grace", 0, "DURATION", "Time between SIGTERM and SIGKILL", "limits.grace"},
    {"--cpu-time", 0, "DURATION", "Processor time of the whole cell", "limits.cpu_time"},
    {"--cpus", 0, "NUMBER", "Processor share; 1.5 is one and a half cores", "limits.cpus"},
    {"--memory", 0, "SIZE", "Memory of the whole cell, such as 256M", "limits.memory"},
    {"--pids", 0, "NUMBER", "Processes and threads of the whole cell", "limits.pids"},
    {"--files", 0, "NUMBER", "Open descriptors of each process", "limits.files"},
    {"--output", 0, "SIZE", "Bytes of stdout and stderr together", "limits.output"},
    {"--disk", 0, "SIZE", "Bytes that the cell can write", "limits.disk"},
    {"--inodes", 0, "NUMBER", "Files and directories that the cell can make", "limits.inodes"},
    {"--limits-mode", 0, "MODE", "require, or best-effort where this host cannot enforce a limit", "limits.mode"},
    {"--set",
     0,
     "KEY=VALUE",
     "Any other key of the policy with a single value, such as net.loopback=true",
     {},
     Times::kMany},
    {"--read", 'r', "PATH", "The guest may read this file or directory", {}, Times::kMany},
    {"--write", 'w', "PATH", "The guest may change it; written through to the host", {}, Times::kMany},
    {"--exec", 'x', "PATH", "The guest may read and execute it", {}, Times::kMany},
    {"--workspace",
     'W',
     "DIR",
     "The guest may change this directory as it likes, and it stays as it is: see cloche diff and apply",
     {},
     Times::kMany},
    {"--allow-net",
     0,
     "RULE",
     "The guest may reach this host: api.example.org:443, *.example.org:443, 10.0.0.0/8:5432; RULE,for=10m for a while",
     {},
     Times::kMany},
    {"--deny-net", 0, "RULE", "It may not reach this one, whatever is allowed", {}, Times::kMany},
    {"--secret",
     0,
     "WORDS",
     "A credential it uses and never holds: name=TOKEN,host=api.example.org:443,header=Authorization,env=REAL",
     {},
     Times::kMany},
    {"--socket",
     0,
     "PATH[=METHODS]",
     "It may connect to this unix socket, or call these JSON-RPC methods on it: /run/x.sock=flow.read,log.*",
     {},
     Times::kMany},
    {"--workspace-mode", 0, "MODE", "How: overlay, copy, or auto", "workspace.mode"},
    {"--workspace-scratch", 0, "WHERE", "Where its changes lie meanwhile: memory, or disk", "workspace.scratch"},
    {"--put", 0, "HOST:GUEST", "Copies a file or directory into the cell before the guest starts", {}, Times::kMany},
    {"--get", 0, "GUEST:HOST", "Copies a file or directory out when the guest has ended", {}, Times::kMany},
    {"--artifact",
     0,
     "PATTERN",
     "Keeps the files that match, such as 'out/*.png' or '**/*.log'; see cloche artifacts",
     {},
     Times::kMany},
    {"--env", 'e', "NAME=VALUE", "Sets a variable for the guest", {}, Times::kMany},
    {"--pass", 0, "NAME", "Passes a variable of ours, or PREFIX_*", {}, Times::kMany},
    {"--observe", 0, "WHAT", "What is noticed for the denials in the report: off, calls, files or all", "observe"},
    {"--cwd", 'C', "PATH", "Working directory inside the cell", "cwd"},
});

constexpr auto kProgram = std::to_array<OptionSpec>({
    {"--keeper", 0, "WHEN", "Take a prepared cell: auto (when a keeper runs), never, always"},
    {"--lang", 'l', "NAME", "Language of the script: python, node, sh, bash, ruby, perl, lua"},
    {"--stdin", 'i', {}, "Connects our standard input; without it the guest reads end-of-file"},
    {"--tty", 't', {}, "Gives the guest a terminal of its own, connected to ours"},
    {"--outputs", 0, "DIR", "The guest's stdout is a document of files for DIR; see cloche help outputs"},
    {"--producer", 0, "NAME", "With --outputs: who hands them back"},
    {"--apply", 0, {}, "With --outputs: writes them; without it they are shown, and kept with the run"},
});

constexpr auto kOutput = std::to_array<OptionSpec>({
    {"--report", 'o', "FILE", "Writes the report as JSON, in one step, when the run is over"},
    {"--events", 0, "FILE", "Writes what goes through the gateway as it happens, a JSON object in each line"},
    {"--json", 'j', {}, "The report (plan: the plan) as JSON on stdout; the guest's output is then only in it"},
    {"--quiet", 'q', {}, "No summary on stderr, unless there could be no run"},
    {"--verbose", 'v', {}, "The whole report with its receipt on stderr"},
    {"--no-record", 0, {}, "Leaves no record of the run for `cloche ps --all`; CLOCHE_RECORD=0 does the same"},
    {"--timing", 0, {}, "Where the time went, step by step, as bars on stderr"},
    {"--color", 0, "WHEN", "auto, always or never; NO_COLOR is honoured"},
    {"--no-color", 0, {}, "The same as --color never"},
    {"--help", 'h', {}, "This text"},
});

std::unexpected<Error> usage(std::string step, std::string message, std::string hint) {
  return fail(ErrorCode::kInvalidInput, std::move(step), std::move(message), std::move(hint));
}

// Links are not resolved but refused: a guest with a writable grant could plant one, and the next run's grant would
// then be whatever it leads to (CONTAINMENT 30).
Result<std::string> existing_path(const Given& given) {
  if (given.value.empty()) return usage(std::string(given.spec->name), "the path is empty", "name a file or directory");
  std::error_code error;
  std::string path = std::filesystem::absolute(given.value, error).lexically_normal().string();
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  auto opened = sys::open_without_symlinks(path);
  if (opened) return path;
  Error problem = opened.error();
  problem.code = ErrorCode::kInvalidInput;
  problem.step = given.spec->name;
  problem.message = fmt::format("{} cannot be granted: {}", shown_text(given.value), problem.message);
  if (problem.errno_value != 0) problem.hint = "name a file or directory that exists";
  return std::unexpected(std::move(problem));
}

Result<std::pair<std::string, std::string>> split_pair(const Given& given, std::string_view hint) {
  const std::size_t equals = given.value.find('=');
  if (equals == std::string::npos || equals == 0) {
    return usage(std::string(given.spec->name), fmt::format("{} is not {}", shown_text(given.value), given.spec->value),
                 std::string(hint));
  }
  return std::pair{given.value.substr(0, equals), given.value.substr(equals + 1)};
}

bool climbs(std::string_view path) {
  return path == ".." || path.starts_with("../") || path.ends_with("/..") ||
         path.find("/../") != std::string_view::npos;
}

// The cell's half of --put and --get. The host's half may contain colons, so the cell's does not.
Result<std::string> path_in_cell(const Given& given, std::string_view text) {
  const std::string path = std::filesystem::path(text).lexically_normal().string();
  if (text.empty() || climbs(text) || path == "/" || path == ".") {
    return usage(std::string(given.spec->name), fmt::format("{} names no file in the cell", shown_text(text)),
                 fmt::format("write {} {}", given.spec->name, given.spec->value));
  }
  return path.ends_with('/') ? path.substr(0, path.size() - 1) : path;
}

Result<std::pair<std::string, std::string>> split_put(const Given& given) {
  const std::size_t colon = given.value.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    return usage("--put", fmt::format("{} is not HOST:GUEST", shown_text(given.value)),
                 "write --put data.csv:/work/data.csv");
  }
  Given host = given;
  host.value = given.value.substr(0, colon);
  CLOCHE_TRY_ASSIGN(std::string from, existing_path(host));
  CLOCHE_TRY_ASSIGN(std::string to, path_in_cell(given, std::string_view(given.value).substr(colon + 1)));
  return std::pair{std::move(from), std::move(to)};
}

Result<std::pair<std::string, std::string>> split_get(const Given& given) {
  const std::size_t colon = given.value.find(':');
  if (colon == std::string::npos || colon + 1 == given.value.size()) {
    return usage("--get", fmt::format("{} is not GUEST:HOST", shown_text(given.value)),
                 "write --get /work/out.csv:out.csv");
  }
  CLOCHE_TRY_ASSIGN(std::string from, path_in_cell(given, std::string_view(given.value).substr(0, colon)));
  std::error_code error;
  std::string to = std::filesystem::absolute(given.value.substr(colon + 1), error).lexically_normal().string();
  return std::pair{std::move(from), std::move(to)};
}

Status set_by_flag(Policy& policy, const Given& given) {
  const std::string_view name = given.spec->name;
  if (!given.spec->key.empty()) return set_scalar(policy, given.spec->key, given.value, name);
  if (name != "--set") return {};
  CLOCHE_TRY_ASSIGN(const auto pair, split_pair(given, "write --set limits.pids=64"));
  return set_scalar(policy, pair.first, pair.second, name);
}

Status read_lists(RunArgs& args) {
  Policy scratch;
  for (const Given& given : args.parsed.options) {
    const std::string_view name = given.spec->name;
    // Tried on a policy that is thrown away: a bad value is a mistake of the command line, wherever it would end up.
    CLOCHE_TRY(set_by_flag(scratch, given));
    CLOCHE_TRY(read_way_out(args.way_out, given));
    auto* const list = name == "--read"        ? &args.read
                       : name == "--write"     ? &args.write
                       : name == "--exec"      ? &args.exec
                       : name == "--workspace" ? &args.workspaces
                                               : nullptr;
    if (list != nullptr) {
      CLOCHE_TRY_ASSIGN(std::string path, existing_path(given));
      list->push_back(std::move(path));
    } else if (name == "--env") {
      CLOCHE_TRY_ASSIGN(auto pair, split_pair(given, "write --env NAME=VALUE; --pass NAME passes a variable of ours"));
      args.set[pair.first] = std::move(pair.second);
    } else if (name == "--put") {
      CLOCHE_TRY_ASSIGN(auto pair, split_put(given));
      args.puts.push_back(std::move(pair));
    } else if (name == "--get") {
      CLOCHE_TRY_ASSIGN(auto pair, split_get(given));
      args.gets.push_back(std::move(pair));
    } else if (name == "--artifact") {
      if (given.value.empty() || climbs(given.value)) {
        return usage("--artifact", fmt::format("{} matches nothing in a cell", shown_text(given.value)),
                     "write --artifact 'out/*.png'");
      }
      args.artifacts.push_back(given.value);
    } else if (name == "--pass") {
      args.pass.push_back(given.value);
    }
  }
  if (args.pass.empty() && args.set.empty()) return {};
  Policy lists;
  lists.env.pass = args.pass;
  lists.env.set = args.set;
  return check(lists, args.pass.empty() ? "--env" : args.set.empty() ? "--pass" : "--env, --pass");
}

Status check_combinations(const RunArgs& args) {
  const Parsed& p = args.parsed;
  if (p.has("--policy") && p.has("--preset")) {
    return usage("command line", "--policy and --preset exclude each other",
                 "write extends = \"PRESET\" in the policy file");
  }
  if (p.has("--preset")) CLOCHE_TRY(preset(p.value("--preset")));
  if (p.has("--lang")) CLOCHE_TRY(check_language(p.value("--lang")));
  if (p.has("--policy") && ::access(p.value("--policy").c_str(), R_OK) != 0) {
    return std::unexpected(Error{ErrorCode::kInvalidInput, "--policy", errno,
                                 fmt::format("{} cannot be read", shown_text(p.value("--policy"))),
                                 "name a TOML file; `cloche policy presets` lists what needs none"});
  }
  if (p.operands.empty()) {
    return usage("command line", "there is nothing to run", "name a script, or a command after --");
  }
  if (p.dashes && p.has("--lang")) {
    return usage("--lang", "a command after -- has no language", "leave --lang out, or name a script without --");
  }
  if (args.from_stdin() && !p.has("--lang")) {
    return usage("command line", "a script from standard input has no name to tell its language by",
                 "name it: cloche run --lang python -");
  }
  if (args.from_stdin() && (p.has("--stdin") || p.has("--tty"))) {
    return usage("command line", "standard input cannot be both the script and the guest's input",
                 "put the script in a file");
  }
  if (p.has("--tty") && p.has("--json")) {
    return usage("--tty", "a terminal shows the guest's output and --json keeps it back", "use --report FILE");
  }
  if (p.has("--quiet") && p.has("--verbose")) {
    return usage("command line", "--quiet and --verbose exclude each other", "leave one of them out");
  }
  return {};
}

}  // namespace

constinit const Table kPolicyOptions = kPolicy;
constinit const Table kProgramOptions = kProgram;
constinit const Table kOutputOptions = kOutput;

Status apply_flags(Policy& policy, const RunArgs& args) {
  for (const Given& given : args.parsed.options) CLOCHE_TRY(set_by_flag(policy, given));
  const auto append = [](std::vector<std::string>& to, const std::vector<std::string>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(policy.files.read, args.read);
  append(policy.files.write, args.write);
  append(policy.files.exec, args.exec);
  append(policy.workspace.path, args.workspaces);
  append(policy.env.pass, args.pass);
  for (const auto& [name, value] : args.set) policy.env.set[name] = value;
  add_way_out(policy, args.way_out);
  return {};
}

Result<RunArgs> read_run_args(std::span<char* const> words) {
  const std::array<Table, 3> tables{kPolicyOptions, kProgramOptions, kOutputOptions};
  return read_run_args(words, tables);
}

Result<RunArgs> read_run_args(std::span<char* const> words, std::span<const Table> tables) {
  RunArgs args;
  CLOCHE_TRY_ASSIGN(args.parsed, parse_options(tables, words, Grammar::kGuest));
  if (args.parsed.has("--help")) return args;
  CLOCHE_TRY(check_combinations(args));
  CLOCHE_TRY(read_lists(args));
  return args;
}

Environment read_environment() {
  Environment env;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    // As getenv(3) has it: of two entries with one name the first counts.
    env.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return env;
}

}  // namespace cloche::cli
