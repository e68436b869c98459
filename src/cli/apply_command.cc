#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/hunk_questions.h"
#include "cli/own_key.h"
#include "cli/terminal.h"
#include "cli/ticker.h"
#include "cli/workspaces.h"
#include "diff/quote.h"
#include "files/apply.h"
#include "policy/policy.h"
#include "report/json_writer.h"
#include "report/text.h"

namespace cloche::cli {
namespace {

using files::ApplyOptions;
using files::Outcome;
using files::ProblemKind;

constexpr int kExitConflicts = 1;

constexpr auto kOptions = std::to_array<OptionSpec>({
    {"--hunk", 0, {}, "Asks for each hunk: y, n, q, a, d; what was answered with yes is applied at the end"},
    {"--hunks",
     0,
     "PATH:LIST",
     "These hunks of a file, such as a.c:1,3-5, counted as diff shows them",
     {},
     Times::kMany},
    {"--force", 0, {}, "What the guest did replaces what changed on the host since"},
    {"--three-way", 0, {}, "Merges texts that changed on the host since; a merge with conflicts is not written"},
    {"--markers", 0, {}, "With --three-way: writes conflicts between <<<<<<< and >>>>>>>"},
    {"--allow-protected", 0, "PATH", "Also this protected path and what is below it, or all", {}, Times::kMany},
    {"--keep", 0, "LIST",
     "Also keeps setid (set-id bits and capabilities that a changed file has), xattrs (attributes that the guest "
     "gave)"},
    {"--workspace", 0, "DIR", "Of a run with several workspaces, this one"},
    {"--dry-run", 'n', {}, "Finds every conflict and writes nothing"},
    {"--json", 'j', {}, "As JSON"},
    {"--color", 0, "WHEN", "auto, always or never; NO_COLOR is honoured"},
    {"--no-color", 0, {}, "The same as --color never"},
    {"--help", 'h', {}, "This text"},
});

std::unexpected<Error> usage(std::string message, std::string hint) {
  return fail(ErrorCode::kInvalidInput, "command line", std::move(message), std::move(hint));
}

std::vector<std::string> values_of(const Parsed& parsed, std::string_view name) {
  std::vector<std::string> values;
  for (const Given& given : parsed.options) {
    if (given.spec->name == name) values.push_back(given.value);
  }
  return values;
}

Result<std::uint32_t> keep_bits(const Parsed& parsed);

Status check_words(const Parsed& parsed) {
  if (parsed.operands.empty()) {
    return usage("which run is missing", "write cloche apply RUN; cloche ps --all lists them, last is the latest");
  }
  if (parsed.has("--markers") && !parsed.has("--three-way")) {
    return usage("--markers is for merges", "write --three-way --markers");
  }
  if (parsed.has("--hunk") && parsed.has("--hunks")) {
    return usage("--hunk asks and --hunks names", "choose one of them");
  }
  if (const auto kept = keep_bits(parsed); !kept) return std::unexpected(kept.error());
  return {};
}

// Named hunks alone select nothing else; together with paths both are applied.
Result<std::vector<files::Selection>> selected(const RunFiles& files, const Parsed& parsed,
                                               const std::vector<std::string>& paths) {
  const std::vector<std::string> hunks = values_of(parsed, "--hunks");
  std::vector<files::Selection> selections(files.workspaces.size());
  if (hunks.empty() || !paths.empty()) {
    CLOCHE_TRY_ASSIGN(selections, select(files.workspaces, paths));
  }
  for (const std::string& typed : hunks) {
    Status last;
    for (std::size_t i = 0; i < selections.size(); ++i) {
      last = files::select_hunks(files.workspaces[i].proposal, typed, selections[i]);
      if (last) break;
    }
    if (!last) return std::unexpected(last.error());
  }
  return selections;
}

ApplyOptions options_for(const Workspace& workspace, const Parsed& parsed) {
  ApplyOptions options;
  options.force = parsed.has("--force");
  options.three_way = parsed.has("--three-way");
  options.markers = parsed.has("--markers");
  options.keep = keep_bits(parsed).value_or(0U);
  options.key = own_key();
  for (const std::string& path : values_of(parsed, "--allow-protected")) {
    if (path == "all") {
      options.all_protected = true;
    } else if (auto inside = files::path_in(workspace.proposal, path); inside && !inside->empty()) {
      options.granted.push_back(std::move(*inside));
    }
  }
  return options;
}

// Two have to say so: the policy of the run, and whoever applies.
Result<std::uint32_t> keep_bits(const Parsed& parsed) {
  std::uint32_t bits = 0;
  if (!parsed.has("--keep")) return bits;
  const std::string list = parsed.value("--keep");
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string word = list.substr(begin, end - begin);
    if (word != to_string(Kept::kSetId) && word != to_string(Kept::kXattrs)) {
      return usage(fmt::format("--keep: {} is neither setid nor xattrs", shown_text(word)),
                   "write --keep setid,xattrs");
    }
    bits |= word == to_string(Kept::kSetId) ? files::kKeepSetId : files::kKeepXattrs;
    begin = end + 1;
  }
  return bits;
}

Status check_keep(const RunFiles& files, const Parsed& parsed) {
  CLOCHE_TRY_ASSIGN(const std::uint32_t bits, keep_bits(parsed));
  for (const Workspace& workspace : files.workspaces) {
    const std::uint32_t missing = bits & ~workspace.proposal.keep;
    if (missing == 0) continue;
    const std::string_view word = to_string((missing & files::kKeepSetId) != 0 ? Kept::kSetId : Kept::kXattrs);
    return fail(ErrorCode::kRefused, "--keep",
                fmt::format("the policy of run {} does not grant {}", files.run.id(), word),
                fmt::format("run it with workspace.keep = [\"{}\"], or leave --keep out", word));
  }
  return {};
}

Status check_grants(const RunFiles& files, const Parsed& parsed) {
  for (const std::string& path : values_of(parsed, "--allow-protected")) {
    const bool known = path == "all" || std::ranges::any_of(files.workspaces, [&](const Workspace& workspace) {
                         const auto inside = files::path_in(workspace.proposal, path);
                         return inside && !inside->empty();
                       });
    if (!known) {
      return fail(ErrorCode::kInvalidInput, "--allow-protected",
                  fmt::format("{} does not lie in the workspace", shown_text(path)), "name a path in it, or all");
    }
  }
  return {};
}

// Everything is tried first: with several workspaces, a conflict in the last one keeps the first from being written.
Result<std::vector<Outcome>> apply_all(RunFiles& files, const std::vector<files::Selection>& selections,
                                       const Parsed& parsed) {
  // From here on Ctrl-C is an answer to a question, which is asked until the first workspace is written.
  CLOCHE_TRY_ASSIGN(const Fd signals, cancel_signals());
  std::vector<Outcome> outcomes(files.workspaces.size());
  const bool dry = parsed.has("--dry-run");
  for (const bool trial : {true, false}) {
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      Workspace& workspace = files.workspaces[i];
      if (selections[i].empty()) continue;
      if (!workspace.root.valid()) return std::unexpected(workspace.obstacle);
      ApplyOptions options = options_for(workspace, parsed);
      options.dry_run = trial;
      Ticker ticker("apply");
      options.progress = std::ref(ticker);
      const bool begun = std::ranges::any_of(outcomes, &Outcome::applied);
      options.cancelled = [&signals, begun] { return !begun && has_come(signals); };
      CLOCHE_TRY_ASSIGN(outcomes[i], files::apply(workspace.root.get(), workspace.directory.get(), workspace.proposal,
                                                  selections[i], options));
    }
    const bool problems = std::ranges::any_of(outcomes, [](const Outcome& one) { return !one.problems.empty(); });
    if (dry || problems) break;
  }
  return outcomes;
}

std::string hint_for(const std::vector<Outcome>& outcomes, const Parsed& parsed) {
  bool conflict = false;
  bool merge = false;
  bool guarded = false;
  for (const Outcome& outcome : outcomes) {
    for (const files::Problem& problem : outcome.problems) {
      conflict = conflict || problem.kind == ProblemKind::kConflict;
      merge = merge || problem.kind == ProblemKind::kMerge;
      guarded = guarded || problem.kind == ProblemKind::kProtected;
    }
  }
  std::string out = "nothing was written";
  // A merge that was tried and failed needs another word.
  if (merge) out += "; --markers writes both sides of what cannot be merged";
  if (conflict && !parsed.has("--three-way")) out += "; --three-way merges texts";
  if (conflict || merge) out += "; --force overwrites";
  if (guarded) out += "; --allow-protected PATH writes a protected name";
  return out + "; paths select the rest";
}

void say_problems(const RunFiles& files, const std::vector<Outcome>& outcomes, const Parsed& parsed) {
  std::string out;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    for (const files::Problem& problem : outcomes[i].problems) {
      const std::string root = files.workspaces.size() > 1 ? files.workspaces[i].proposal.root + "/" : "";
      out += fmt::format("{}: {}: {}\n", to_string(problem.kind), diff::quote_path(root + problem.path),
                         printable(problem.reason));
    }
  }
  put(STDERR_FILENO, fmt::format("{}cloche: {}\n", out, hint_for(outcomes, parsed)));
}

std::string list_text(std::string_view word, const std::vector<std::string>& paths) {
  std::string out;
  for (const std::string& path : paths) out += fmt::format("  {} {}\n", word, diff::quote_path(path));
  return out;
}

std::size_t left_of(const Workspace& workspace) {
  return static_cast<std::size_t>(std::ranges::count_if(workspace.proposal.entries, [](const files::Entry& entry) {
    return entry.pending() && entry.obstacle == files::Obstacle::kNone;
  }));
}

std::string as_text(const RunFiles& files, const std::vector<Outcome>& outcomes, bool dry) {
  std::string out;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    const Workspace& workspace = files.workspaces[i];
    if (!outcome.applied && !dry) continue;
    out += fmt::format("{} {}: {}\n", dry ? "would apply to" : "applied to", diff::quote_path(workspace.proposal.root),
                       counts_text(outcome.added, outcome.modified, outcome.deleted));
    if (outcome.there != 0) out += fmt::format("  {} already so on the host\n", outcome.there);
    out += list_text("merged", outcome.merged) + list_text("overwritten", outcome.forced) +
           list_text("cannot be applied:", outcome.unappliable);
    if (const std::size_t left = left_of(workspace); left != 0 && !dry) {
      out += fmt::format("  {} left; cloche diff {} shows them\n",
                         left == 1 ? "1 change is" : fmt::format("{} changes are", left), files.run.id());
    }
  }
  return out;
}

std::vector<std::string> quoted(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const std::string& path : paths) out.push_back(diff::quote_path(path));
  return out;
}

std::string as_json(const RunFiles& files, const std::vector<Outcome>& outcomes) {
  JsonWriter json;
  json.begin_object();
  json.member("run", files.run.id());
  json.name("workspaces").begin_array();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    json.begin_object();
    json.member("workspace", diff::quote_path(files.workspaces[i].proposal.root));
    json.member("applied", outcome.applied);
    json.member("added", outcome.added);
    json.member("modified", outcome.modified);
    json.member("deleted", outcome.deleted);
    json.member("already", outcome.there);
    json.member("left", left_of(files.workspaces[i]));
    json.strings("merged", quoted(outcome.merged));
    json.strings("overwritten", quoted(outcome.forced));
    json.strings("unappliable", quoted(outcome.unappliable));
    json.name("problems").begin_array();
    for (const files::Problem& problem : outcome.problems) {
      json.begin_object();
      json.member("path", diff::quote_path(problem.path));
      json.member("kind", to_string(problem.kind));
      json.member("reason", problem.reason);
      json.end_object();
    }
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.take() + "\n";
}

int apply_selected(RunFiles& files, const std::vector<files::Selection>& selections, const Parsed& parsed) {
  const bool json = parsed.has("--json");
  const bool any = std::ranges::any_of(selections, [](const files::Selection& one) { return !one.empty(); });
  if (!any && !json) {
    const bool left = std::ranges::any_of(files.workspaces, [](const Workspace& one) { return left_of(one) != 0; });
    const bool none =
        std::ranges::all_of(files.workspaces, [](const Workspace& one) { return one.proposal.entries.empty(); });
    const std::string text = left   ? "nothing was selected, and nothing was written\n"
                             : none ? fmt::format("run {} changed nothing\n", files.run.id())
                                    : fmt::format("everything of run {} was applied already\n", files.run.id());
    return put(STDOUT_FILENO, text) ? 0 : kExitFailed;
  }
  const auto outcomes = apply_all(files, selections, parsed);
  if (!outcomes) {
    const bool typed = outcomes.error().code == ErrorCode::kInvalidInput && parsed.has("--hunks");
    return complain(outcomes.error(), typed ? kExitUsage : exit_code_of(outcomes.error()));
  }
  const bool problems = std::ranges::any_of(*outcomes, [](const Outcome& one) { return !one.problems.empty(); });
  if (problems) say_problems(files, *outcomes, parsed);
  if (json && !put(STDOUT_FILENO, as_json(files, *outcomes))) return kExitFailed;
  if (problems) return kExitConflicts;
  if (!json && !put(STDOUT_FILENO, as_text(files, *outcomes, parsed.has("--dry-run")))) return kExitFailed;
  return 0;
}

}  // namespace

constinit const Table kApplyOptions = kOptions;

int apply_command(Words words) {
  const std::array<Table, 1> tables{kApplyOptions};
  const auto parsed = parse_options(tables, words, Grammar::kMixed);
  if (!parsed) return usage_error(parsed.error(), "apply");
  if (parsed->has("--help")) return show_help("apply");
  if (const auto checked = check_words(*parsed); !checked) return usage_error(checked.error(), "apply");
  const std::string when = parsed->has("--no-color") ? "never"
                           : parsed->has("--color")  ? parsed->value("--color")
                                                     : "auto";
  const auto colour = choose_colour(when, STDERR_FILENO);
  if (!colour) return usage_error(colour.error(), "apply");
  auto files = open_run_files(parsed->operands.front(), Purpose::kApply, parsed->value("--workspace"));
  if (!files) return complain(files.error(), exit_code_of(files.error()));
  const std::vector<std::string> paths(parsed->operands.begin() + 1, parsed->operands.end());
  if (const auto known = check_grants(*files, *parsed); !known) return complain(known.error(), kExitUsage);
  if (const auto kept = check_keep(*files, *parsed); !kept) return complain(kept.error(), exit_code_of(kept.error()));
  auto selections = selected(*files, *parsed, paths);
  if (!selections) return complain(selections.error(), kExitUsage);
  if (parsed->has("--hunk")) {
    const DiffOptions options{*colour, true, columns_of(STDERR_FILENO), false};
    if (const auto asked = ask_for_hunks(files->workspaces, *selections, options); !asked) {
      return complain(asked.error(), exit_code_of(asked.error()));
    }
  }
  return apply_selected(*files, *selections, *parsed);
}

}  // namespace cloche::cli
