#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/event_log.h"
#include "cli/file_traffic.h"
#include "cli/report_file.h"
#include "cli/run_options.h"
#include "cli/run_outputs.h"
#include "cli/run_place.h"
#include "cli/run_record.h"
#include "cli/terminal.h"
#include "cli/view_hint.h"
#include "engine/engine.h"
#include "keeper/place.h"
#include "report/json.h"
#include "report/render.h"

namespace cloche::cli {
namespace {

struct Voice {
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  RenderOptions render;
};

Result<Voice> choose_voice(const Parsed& parsed) {
  Voice voice;
  voice.json = parsed.has("--json");
  voice.quiet = parsed.has("--quiet");
  voice.verbose = parsed.has("--verbose");
  const std::string when = parsed.has("--no-color") ? "never"
                           : parsed.has("--color")  ? parsed.value("--color")
                                                    : "auto";
  CLOCHE_TRY_ASSIGN(voice.render.colour, choose_colour(when, STDERR_FILENO));
  voice.render.columns = columns_of(STDERR_FILENO);
  return voice;
}

Result<KeeperUse> choose_keeper(const Parsed& parsed) {
  KeeperUse use{KeeperUse::When::kIfRunning, keeper::default_directory()};
  const std::string when = parsed.has("--keeper") ? parsed.value("--keeper") : "auto";
  if (when == "never") use.when = KeeperUse::When::kNever;
  if (when == "always") use.when = KeeperUse::When::kAlways;
  if (when == "auto" || when == "never" || when == "always") return use;
  return fail(ErrorCode::kInvalidInput, "--keeper", "'" + when + "' is none of auto, never, always");
}

// What a run leaves besides its report.
struct Beside {
  RunRecord record;
  std::optional<RunOutputs> outputs;
  std::optional<FileTraffic> files;
  std::optional<EventLog> events;
  std::shared_ptr<Control> control = nullptr;  // of its grants
};

// The command itself, in a process that ends with the run.
class OwnProcess : public RunPlace {
 public:
  explicit OwnProcess(KeeperUse keeper) : keeper_(std::move(keeper)) {}

  Result<int> begin(const RunArgs& args) override {
    // Nothing of this user's other processes may look into the engine while it prepares a cell (CONTAINMENT 25).
    if (::prctl(PR_SET_DUMPABLE, 0) != 0) {
      return std::unexpected(Error{ErrorCode::kSystem, "dumpable", errno, "others could look into this process", {}});
    }
    CLOCHE_TRY_ASSIGN(cancel_, cancel_signals());
    head_ = begin_early(keeper_);
    head_.hands_out = !args.gets.empty();
    head_.janitor = &janitor_;
    // From here on the first process is on its way, and what takes time is done beside it.
    return cancel_.get();
  }
  bool knows(const Policy& /*policy*/) const override { return false; }
  bool takes(const Policy& /*policy*/, const Request& /*request*/) override { return true; }
  Report run(const Policy& policy, const Request& request, RunWiring wiring, const Keep& keep) override {
    return cloche::run(policy, request, probe_for(policy, request), std::move(wiring), std::move(head_), keep);
  }
  bool answers_for_errors() const override { return true; }

 private:
  KeeperUse keeper_;
  Fd cancel_;
  HeadStart head_;
  std::unique_ptr<Janitor> janitor_;  // ends beside the last words of the command
};

Result<Report> run_wired(const Policy& policy, const Request& request, const Voice& voice, const Parsed& parsed,
                         RunPlace& place, Clock::time_point asked, int cancel, Beside& beside) {
  RunWiring wiring;
  wiring.asked = asked;
  wiring.cancel_fd = cancel;
  wiring.control = beside.control;
  beside.files->wire(wiring);
  wiring.on_waiting = [&beside] { (void)beside.record.begin(RunRecord::Need::kNone); };
  if (beside.events) {
    wiring.on_connection = [&beside](const Connection& of, bool opened) { beside.events->connection(of, opened); };
    wiring.on_call = [&beside](const Call& call) { beside.events->call(call); };
    wiring.on_change = [&beside](const GrantChange& change) { beside.events->change(change); };
    beside.events->start(request, policy.name);
  }
  if (!voice.json) {
    wiring.out_fd = STDOUT_FILENO;
    wiring.err_fd = STDERR_FILENO;
  }
  if (beside.outputs) wiring.out_fd = beside.outputs->collect_fd();
  if (parsed.has("--stdin")) wiring.stdin_fd = STDIN_FILENO;
  if (!request.tty) return place.run(policy, request, std::move(wiring), beside.files->keep());

  CLOCHE_TRY_ASSIGN(const Fd resize, resize_signal());
  CLOCHE_TRY_ASSIGN(const RawTerminal raw, RawTerminal::enter(STDIN_FILENO));
  wiring.stdin_fd = STDIN_FILENO;
  wiring.terminal_fd = STDIN_FILENO;
  wiring.resize_fd = resize.get();
  return place.run(policy, request, std::move(wiring), beside.files->keep());
}

// A run that could not begin still has a report: programs read one document, whatever happened. Nothing where the place
// does not take it.
std::optional<Report> run_or_refuse(const RunArgs& args, const Voice& voice, RunPlace& place, Beside& beside) {
  Policy policy;
  policy.name = args.parsed.has("--policy")   ? args.parsed.value("--policy")
                : args.parsed.has("--preset") ? args.parsed.value("--preset")
                                              : "untrusted";
  Request request;
  request.argv = args.parsed.operands;
  const auto asked = Clock::now();
  const auto refuse = [&](const Error& error) -> std::optional<Report> {
    if (!place.answers_for_errors()) return std::nullopt;
    return refusal(request, policy, error);
  };
  const auto cancel = place.begin(args);
  if (!cancel) return refuse(cancel.error());
  Environment env = read_environment();
  auto made = make_policy(args, env, [&](const Policy& one) { return place.knows(one); });
  if (!made) return refuse(made.error());
  policy = std::move(*made);
  auto wanted = make_request(args, policy, std::move(env));
  if (!wanted) return refuse(wanted.error());
  auto id = make_run_id();
  if (!id) return refuse(id.error());
  wanted->id = std::move(*id);
  if (!place.takes(policy, *wanted)) return std::nullopt;
  if (policy.backend == BackendChoice::kNone) {
    fputs("cloche: warning: backend 'none' contains nothing; for development only\n", stderr);
  }
  beside.record.arm(wanted->env, wanted->id, policy);
  if (beside.outputs) {
    const auto need = beside.outputs->needs_record() ? RunRecord::Need::kMust : RunRecord::Need::kMay;
    if (auto begun = beside.record.begin(need); !begun) {
      return refusal(*wanted, policy, begun.error());
    }
  }
  auto files = FileTraffic::prepare(args, policy, *wanted, beside.record);
  if (!files) return refusal(*wanted, policy, files.error());
  beside.files = std::move(*files);
  if (!policy.workspace.path.empty()) wanted->run_directory = canonical_place(beside.record.record()->path());
  beside.control = make_control(args, policy, wanted->env, wanted->id);
  auto report = run_wired(policy, *wanted, voice, args.parsed, place, asked, *cancel, beside);
  if (!report) return refusal(*wanted, policy, report.error());
  keep_advice_below_ceilings(*report, args, wanted->env);
  name_flags_above(report->denials, args);
  hint_at_directory(*report, policy, args, wanted->env);
  return std::move(*report);
}

// What a list of runs says about it, and what a collection spares for a while.
std::vector<std::string> kept_by(const Report& report, const RunOutputs::Done& handed) {
  std::vector<std::string> out;
  for (const WorkspaceChanges& changes : report.workspaces) {
    if (changes.added + changes.modified + changes.deleted == 0) continue;
    out.emplace_back("workspace");
    break;
  }
  if (!report.outputs.empty()) out.emplace_back("artifacts");
  if (handed.kept) out.emplace_back("outputs");
  return out;
}

void tell(const Report& report, const Voice& voice) {
  if (voice.verbose) {
    Report shown = report;
    if (!voice.json) shown.out.tail = shown.err.tail = {};  // they have been seen as they came
    RenderOptions options = voice.render;
    options.detail = Detail::kDebug;
    put(STDERR_FILENO, render(shown, options));
  } else if (!voice.quiet || report.outcome.kind == OutcomeKind::kRefused ||
             report.outcome.kind == OutcomeKind::kFailed) {
    put(STDERR_FILENO, render_summary(report, voice.render));  // why there was no run is never kept quiet
  }
}

}  // namespace

std::optional<int> run_at(RunPlace& place, const RunArgs& args) {
  const auto wrong = [&](const Error& error) -> std::optional<int> {
    if (!place.answers_for_errors()) return std::nullopt;
    return usage_error(error, "run");
  };
  auto voice = choose_voice(args.parsed);
  if (!voice) return wrong(voice.error());
  if (args.parsed.has("--tty") && ::isatty(STDIN_FILENO) != 1) {
    return wrong({ErrorCode::kInvalidInput, "--tty", 0, "standard input is not a terminal",
                  "leave --tty out; --stdin connects a pipe or a file"});
  }
  std::optional<ReportFile> file;
  if (args.parsed.has("--report")) {
    auto prepared = ReportFile::prepare(args.parsed.value("--report"));
    if (!prepared) return wrong(prepared.error());
    file = std::move(*prepared);
  }
  auto outputs = RunOutputs::prepare(args.parsed, voice->render.colour);
  if (!outputs) return wrong(outputs.error());
  ignore_broken_pipes();

  Beside beside{RunRecord(args.parsed), std::move(*outputs), std::nullopt, std::nullopt, nullptr};
  if (args.parsed.has("--events")) {
    auto opened = EventLog::open(args.parsed.value("--events"));
    if (!opened) return wrong(opened.error());
    beside.events = std::move(*opened);
  }
  const auto reported = run_or_refuse(args, *voice, place, beside);
  if (!reported) return std::nullopt;
  const Report& report = *reported;

  if (beside.events) beside.events->finish(report);
  RunOutputs::Done handed{exit_code(report.outcome), false};
  if (beside.outputs) handed = beside.outputs->finish(report, beside.record.record());
  int code = handed.exit_code;
  if (beside.files && !beside.files->problem()) code = complain(beside.files->problem().error(), kExitFailed);
  const std::string json = file || voice->json || beside.record.armed() ? to_json(report) : std::string();
  if (file || voice->json) {
    if (voice->json && !put(STDOUT_FILENO, json)) code = kExitFailed;
    if (file) {
      if (Status written = file->write(json); !written) code = complain(written.error(), kExitFailed);
    }
  }
  if (args.parsed.has("--timing")) put(STDERR_FILENO, render_timing(report, voice->render));
  voice->render.recorded = beside.record.is_kept();
  tell(report, *voice);
  if (Status written = beside.record.finish(report, json, kept_by(report, handed)); !written) {
    code = complain(written.error(), kExitFailed);
  }
  return code;
}

int run_command(Words words) {
  const auto args = read_run_args(words);
  if (!args) return usage_error(args.error(), "run");
  if (args->parsed.has("--help")) return show_help("run");
  auto keeper = choose_keeper(args->parsed);
  if (!keeper) return usage_error(keeper.error(), "run");
  OwnProcess place(std::move(*keeper));
  return run_at(place, *args).value_or(kExitFailed);
}

}  // namespace cloche::cli
