#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/workspaces.h"
#include "diff/quote.h"
#include "report/json_writer.h"

namespace cloche::cli {
namespace {

constexpr auto kOptions = std::to_array<OptionSpec>({
    {"--workspace", 0, "DIR", "Of a run with several workspaces, this one alone"},
    {"--json", 'j', {}, "As JSON"},
    {"--help", 'h', {}, "This text"},
});

struct Discarded {
  std::string root;
  files::Summary summary;
};

Result<std::vector<Discarded>> discard(RunFiles& files, bool whole) {
  std::vector<Discarded> done;
  for (const Workspace& workspace : files.workspaces) {
    CLOCHE_TRY(remove_proposal(files.run, workspace));
    done.push_back({workspace.proposal.root, files::summarize(workspace.proposal)});
  }
  if (!whole) return done;
  if (auto file = files.run.read()) {
    std::erase(file->facts.keeps, "workspace");
    CLOCHE_TRY(files.run.set_keeps(file->facts.keeps));
  }
  return done;
}

std::string as_text(const std::vector<Discarded>& done) {
  std::string out;
  for (const Discarded& one : done) {
    out += fmt::format("discarded the changes to {}: {}\n", diff::quote_path(one.root),
                       counts_text(one.summary.added, one.summary.modified, one.summary.deleted));
  }
  return out;
}

std::string as_json(const std::string& id, const std::vector<Discarded>& done) {
  JsonWriter json;
  json.begin_object();
  json.member("run", id);
  json.name("discarded").begin_array();
  for (const Discarded& one : done) {
    json.begin_object();
    json.member("workspace", diff::quote_path(one.root));
    json.member("added", one.summary.added);
    json.member("modified", one.summary.modified);
    json.member("deleted", one.summary.deleted);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.take() + "\n";
}

}  // namespace

constinit const Table kDiscardOptions = kOptions;

int discard_command(Words words) {
  const std::array<Table, 1> tables{kDiscardOptions};
  const auto parsed = parse_options(tables, words, Grammar::kMixed);
  if (!parsed) return usage_error(parsed.error(), "discard");
  if (parsed->has("--help")) return show_help("discard");
  if (parsed->operands.size() != 1) {
    return usage_error({ErrorCode::kInvalidInput, "command line", 0, "discard takes one run",
                        "write cloche discard RUN; cloche ps --all lists them"},
                       "discard");
  }
  auto files = open_run_files(parsed->operands.front(), Purpose::kDiscard, parsed->value("--workspace"));
  if (!files) return complain(files.error(), exit_code_of(files.error()));
  const auto done = discard(*files, !parsed->has("--workspace"));
  if (!done) return complain(done.error(), exit_code_of(done.error()));
  const std::string text = parsed->has("--json") ? as_json(files->run.id(), *done) : as_text(*done);
  return put(STDOUT_FILENO, text) ? 0 : kExitFailed;
}

}  // namespace cloche::cli
