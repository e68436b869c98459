#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/own_key.h"
#include "cli/run_options.h"
#include "cli/terminal.h"
#include "cli/ticker.h"
#include "files/proposal.h"
#include "report/json.h"
#include "report/json_writer.h"
#include "report/text.h"
#include "store/files.h"
#include "store/run_directory.h"
#include "store/run_file.h"
#include "sys/file.h"
#include "tree/apply.h"
#include "tree/path_rules.h"

namespace cloche::cli {
namespace {

constexpr auto kOptions = std::to_array<OptionSpec>({
    {"--to", 0, "DIR", "Writes them into this directory, all or none, by the paths they had in the cell"},
    {"--force", 'f', {}, "Also over files that are there"},
    {"--json", 'j', {}, "As JSON"},
    {"--help", 'h', {}, "This text"},
});

// Without the place that every cell has of its own; what lay in a workspace keeps its whole path.
std::string path_outside(const std::string& path) {
  for (const std::string_view place : {"/work/", "/tmp/", "/home/guest/"}) {
    if (path.starts_with(place)) return path.substr(place.size());
  }
  return path.substr(1);
}

Result<tree::FileState> state_of(const Artifact& artifact) {
  tree::FileState out;
  out.kind = tree::FileKind::kRegular;
  out.mode = 0644;
  out.size = artifact.size;
  // The report is a file that somebody may have changed; what its digest names is checked again when it is read.
  if (artifact.sha256.size() != 2 * out.digest.size() ||
      artifact.sha256.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return fail(ErrorCode::kInvalidInput, "artifacts", "the report of this run has no valid digest");
  }
  for (std::size_t i = 0; i < out.digest.size(); ++i) {
    out.digest[i] = static_cast<std::uint8_t>(std::stoi(artifact.sha256.substr(2 * i, 2), nullptr, 16));
  }
  return out;
}

Result<std::vector<tree::Change>> changes_for(int kept, const std::vector<Artifact>& artifacts) {
  std::vector<tree::Change> out;
  for (const Artifact& artifact : artifacts) {
    tree::Change change;
    change.path = path_outside(artifact.path);
    CLOCHE_TRY(tree::check_path(change.path));
    CLOCHE_TRY_ASSIGN(change.after, state_of(artifact));
    CLOCHE_TRY_ASSIGN(change.content, files::open_blob(kept, *change.after));
    out.push_back(std::move(change));
  }
  return out;
}

Status write_to(const std::string& folder, const store::RunDirectory& run, const std::vector<Artifact>& artifacts,
                bool force) {
  if (!run.has_directory()) return fail(ErrorCode::kNotFound, "artifacts", "this run kept none");
  const Fd kept(::openat(run.fd(), "artifacts", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!kept.valid()) return fail_errno(errno, "artifacts", "this run kept none");
  CLOCHE_TRY_ASSIGN(const auto changes, changes_for(kept.get(), artifacts));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  CLOCHE_TRY_ASSIGN(const Fd root, sys::open_file(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  tree::Options options;
  options.force = force;
  options.key = own_key();
  options.progress = Ticker("artifacts");
  CLOCHE_TRY_ASSIGN(const Fd signals, cancel_signals());
  options.cancelled = [&signals] { return has_come(signals); };
  CLOCHE_TRY_ASSIGN(const tree::Applied applied, tree::apply(root.get(), changes, options));
  if (applied.applied) return {};
  const tree::Conflict& first = applied.conflicts.front();
  return fail(ErrorCode::kRefused, tree::printable(first.path),
              first.kind == tree::ConflictKind::kChanged ? "something is there already" : first.reason,
              fmt::format("nothing was written, {} in the way; --force writes over files", applied.conflicts.size()));
}

std::string as_text(const std::vector<Artifact>& artifacts) {
  std::string out;
  for (const Artifact& file : artifacts) {
    out += fmt::format("{}  {:>8}  {}  {}\n", printable(file.sha256).substr(0, 16), to_text(Bytes{file.size}),
                       printable(file.type), printable(file.path));
  }
  return out;
}

std::string as_json(const std::string& id, const std::vector<Artifact>& artifacts) {
  JsonWriter json;
  json.begin_object();
  json.member("run", id);
  json.name("artifacts").begin_array();
  for (const Artifact& file : artifacts) {
    json.begin_object();
    json.member("path", file.path);
    json.member("size", file.size);
    json.member("sha256", file.sha256);
    json.member("type", file.type);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.take() + "\n";
}

Status show_or_write(const Parsed& parsed) {
  CLOCHE_TRY_ASSIGN(const store::Place place, store::find_place(read_environment()));
  CLOCHE_TRY_ASSIGN(const store::RunDirectory run, store::find_run(place, parsed.operands.front(), store::Use::kRead));
  CLOCHE_TRY_ASSIGN(const std::string text, run.report());
  CLOCHE_TRY_ASSIGN(const Report report, from_json(text));
  if (parsed.has("--to")) {
    CLOCHE_TRY(write_to(parsed.value("--to"), run, report.outputs, parsed.has("--force")));
  }
  put(STDOUT_FILENO, parsed.has("--json") ? as_json(run.id(), report.outputs) : as_text(report.outputs));
  return {};
}

}  // namespace

constinit const Table kArtifactsOptions = kOptions;

int artifacts_command(Words words) {
  const std::array<Table, 1> tables{kArtifactsOptions};
  const auto parsed = parse_options(tables, words, Grammar::kMixed);
  if (!parsed) return usage_error(parsed.error(), "artifacts");
  if (parsed->has("--help")) return show_help("artifacts");
  if (parsed->operands.size() != 1) {
    return usage_error({ErrorCode::kInvalidInput, "command line", 0, "artifacts takes one run",
                        "write cloche artifacts RUN; cloche ps --all lists them"},
                       "artifacts");
  }
  const Status done = show_or_write(*parsed);
  if (done) return 0;
  return complain(done.error(), exit_code_of(done.error()));
}

}  // namespace cloche::cli
