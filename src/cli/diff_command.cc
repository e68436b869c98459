#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/diff_view.h"
#include "cli/workspaces.h"
#include "diff/quote.h"
#include "report/text.h"

namespace cloche::cli {
namespace {

constexpr auto kOptions = std::to_array<OptionSpec>({
    {"--stat", 0, {}, "How many lines of each file changed"},
    {"--name-only", 0, {}, "Paths alone, one a line, quoted as git does"},
    {"--null", 'z', {}, "With --name-only: paths as they are, each ended by a NUL byte"},
    {"--json", 'j', {}, "As JSON"},
    {"--workspace", 0, "DIR", "Of a run with several workspaces, this one"},
    {"--exit-code", 0, {}, "Exit code 1 when there are changes"},
    {"--color", 0, "WHEN", "auto, always or never; NO_COLOR is honoured"},
    {"--no-color", 0, {}, "The same as --color never"},
    {"--help", 'h', {}, "This text"},
});

std::string names_of(const ShownWorkspace& shown, const Parsed& parsed) {
  const bool null = parsed.has("--null");
  std::string out;
  const auto add = [&](const std::string& path) {
    out += null ? path : diff::quote_path(path);
    out += null ? '\0' : '\n';
  };
  for (const ShownEntry& one : shown.entries) {
    if (one.from != nullptr) add(one.from->path);
    add(one.entry->path);
  }
  return out;
}

std::string heading_of(const Workspace& workspace) {
  return fmt::format("workspace {}\n", diff::quote_path(workspace.proposal.root));
}

// Written piece by piece: a guest may have changed more than fits into memory at once.
Result<bool> show_text(const std::vector<ShownWorkspace>& all, const Parsed& parsed, const DiffOptions& options) {
  for (const ShownWorkspace& shown : all) {
    const bool quiet = parsed.has("--name-only");
    if (options.heading && !quiet && !shown.entries.empty() && !put(STDOUT_FILENO, heading_of(*shown.workspace))) {
      return false;
    }
    if (quiet) {
      if (!put(STDOUT_FILENO, names_of(shown, parsed))) return false;
      continue;
    }
    if (parsed.has("--stat")) {
      CLOCHE_TRY_ASSIGN(const std::string text, stat_of(shown, options));
      if (!shown.entries.empty() && !put(STDOUT_FILENO, text)) return false;
      continue;
    }
    for (const ShownEntry& one : shown.entries) {
      CLOCHE_TRY_ASSIGN(const std::string text, diff_of(*shown.workspace, one, options));
      if (!put(STDOUT_FILENO, text)) return false;
    }
  }
  return true;
}

Result<bool> show_json(const std::string& id, const std::vector<ShownWorkspace>& all) {
  JsonWriter json;
  json.begin_object();
  json.member("run", id);
  json.name("workspaces").begin_array();
  for (const ShownWorkspace& shown : all) CLOCHE_TRY(write_json(json, shown));
  json.end_array();
  json.end_object();
  return put(STDOUT_FILENO, json.take() + "\n");
}

int show(const RunFiles& files, const std::vector<files::Selection>& selections, const Parsed& parsed, Colour colour) {
  std::vector<ShownWorkspace> all;
  bool any = false;
  for (std::size_t i = 0; i < files.workspaces.size(); ++i) {
    const Workspace& workspace = files.workspaces[i];
    if (!workspace.root.valid()) {
      Error error = workspace.obstacle;
      error.hint = "it is shown without what changed on the host since";
      complain(error, 0);
    }
    all.push_back(look_at(workspace, selections[i]));
    any = any || !all.back().entries.empty();
  }
  const DiffOptions options{colour, ::isatty(STDOUT_FILENO) == 1, columns_of(STDOUT_FILENO), all.size() > 1};
  const auto shown = parsed.has("--json") ? show_json(files.run.id(), all) : show_text(all, parsed, options);
  if (!shown) return complain(shown.error(), exit_code_of(shown.error()));
  if (!*shown) return kExitFailed;
  return any && parsed.has("--exit-code") ? 1 : 0;
}

}  // namespace

constinit const Table kDiffOptions = kOptions;

int diff_command(Words words) {
  const std::array<Table, 1> tables{kDiffOptions};
  auto parsed = parse_options(tables, words, Grammar::kMixed);
  if (!parsed) return usage_error(parsed.error(), "diff");
  if (parsed->has("--help")) return show_help("diff");
  if (parsed->operands.empty()) {
    return usage_error({ErrorCode::kInvalidInput, "command line", 0, "which run is missing",
                        "write cloche diff RUN; cloche ps --all lists them, last is the latest"},
                       "diff");
  }
  const std::string when = parsed->has("--no-color") ? "never"
                           : parsed->has("--color")  ? parsed->value("--color")
                                                     : "auto";
  const auto colour = choose_colour(when, STDOUT_FILENO);
  if (!colour) return usage_error(colour.error(), "diff");
  const std::string name = parsed->operands.front();
  parsed->operands.erase(parsed->operands.begin());
  const auto files = open_run_files(name, Purpose::kShow, parsed->value("--workspace"));
  if (!files) return complain(files.error(), exit_code_of(files.error()));
  const auto selections = select(files->workspaces, parsed->operands);
  if (!selections) return complain(selections.error(), kExitUsage);
  return show(*files, *selections, *parsed, *colour);
}

}  // namespace cloche::cli
