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
#include "cli/run_record.h"
#include "cli/terminal.h"
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

Result<Report> run_wired(const Policy& policy, const Request& request, const Voice& voice, const Parsed& parsed,
                         HeadStart head, Clock::time_point asked, const Fd& cancel, Beside& beside) {
  const HostFacts host = probe_for(policy, request);
  RunWiring wiring;
  wiring.asked = asked;
  wiring.cancel_fd = cancel.get();
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
  if (!request.tty) return run(policy, request, host, std::move(wiring), std::move(head), beside.files->keep());

  CLOCHE_TRY_ASSIGN(const Fd resize, resize_signal());
  CLOCHE_TRY_ASSIGN(const RawTerminal raw, RawTerminal::enter(STDIN_FILENO));
  wiring.stdin_fd = STDIN_FILENO;
  wiring.terminal_fd = STDIN_FILENO;
  wiring.resize_fd = resize.get();
  return run(policy, request, host, std::move(wiring), std::move(head), beside.files->keep());
}

// A run that could not begin still has a report: programs read one document, whatever happened.
Report run_or_refuse(const RunArgs& args, const Voice& voice, const KeeperUse& keeper, Beside& beside) {
  Policy policy;
  policy.name = args.parsed.has("--policy")   ? args.parsed.value("--policy")
                : args.parsed.has("--preset") ? args.parsed.value("--preset")
                                              : "untrusted";
  Request request;
  request.argv = args.parsed.operands;
  const auto asked = Clock::now();
  // Nothing of this user's other processes may look into the engine while it prepares a cell (CONTAINMENT 25).
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) {
    return refusal(request, policy,
                   Error{ErrorCode::kSystem, "dumpable", errno, "others could look into this process", {}});
  }
  auto cancel = cancel_signals();
  if (!cancel) return refusal(request, policy, cancel.error());
  HeadStart head = begin_early(keeper);
  head.hands_out = !args.gets.empty();
  // From here on the first process is on its way, and what takes time is done beside it.
  const Environment env = read_environment();
  auto made = make_policy(args, env);
  if (!made) return refusal(request, policy, made.error());
  policy = std::move(*made);
  if (policy.backend == BackendChoice::kNone) {
    fputs("cloche: warning: backend 'none' contains nothing; for development only\n", stderr);
  }
  auto wanted = make_request(args, policy, env);
  if (!wanted) return refusal(request, policy, wanted.error());
  auto id = make_run_id();
  if (!id) return refusal(*wanted, policy, id.error());
  wanted->id = std::move(*id);
  beside.record.arm(env, wanted->id, policy);
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
  beside.control = make_control(args, policy, env, wanted->id);
  auto report = run_wired(policy, *wanted, voice, args.parsed, std::move(head), asked, *cancel, beside);
  if (!report) return refusal(*wanted, policy, report.error());
  keep_advice_below_ceilings(*report, args, env);
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

int run_command(Words words) {
  auto args = read_run_args(words);
  if (!args) return usage_error(args.error(), "run");
  if (args->parsed.has("--help")) return show_help("run");
  auto voice = choose_voice(args->parsed);
  if (!voice) return usage_error(voice.error(), "run");
  const auto keeper = choose_keeper(args->parsed);
  if (!keeper) return usage_error(keeper.error(), "run");
  if (args->parsed.has("--tty") && ::isatty(STDIN_FILENO) != 1) {
    return usage_error({ErrorCode::kInvalidInput, "--tty", 0, "standard input is not a terminal",
                        "leave --tty out; --stdin connects a pipe or a file"},
                       "run");
  }
  std::optional<ReportFile> file;
  if (args->parsed.has("--report")) {
    auto prepared = ReportFile::prepare(args->parsed.value("--report"));
    if (!prepared) return usage_error(prepared.error(), "run");
    file = std::move(*prepared);
  }
  auto outputs = RunOutputs::prepare(args->parsed, voice->render.colour);
  if (!outputs) return usage_error(outputs.error(), "run");
  ignore_broken_pipes();

  Beside beside{RunRecord(args->parsed), std::move(*outputs), std::nullopt, std::nullopt, nullptr};
  if (args->parsed.has("--events")) {
    auto opened = EventLog::open(args->parsed.value("--events"));
    if (!opened) return usage_error(opened.error(), "run");
    beside.events = std::move(*opened);
  }
  const Report report = run_or_refuse(*args, *voice, *keeper, beside);

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
  if (args->parsed.has("--timing")) put(STDERR_FILENO, render_timing(report, voice->render));
  voice->render.recorded = beside.record.is_kept();
  tell(report, *voice);
  if (Status written = beside.record.finish(report, json, kept_by(report, handed)); !written) {
    code = complain(written.error(), kExitFailed);
  }
  return code;
}

}  // namespace cloche::cli
