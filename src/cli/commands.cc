#include "cli/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "base/units.h"
#include "cli/console.h"
#include "cli/run_options.h"
#include "policy/text.h"
#include "report/text.h"

namespace cloche::cli {
namespace {

using Text = std::string_view;

constexpr auto kRunUsages =
    std::to_array<Text>({"run [options] SCRIPT [argument…]", "run [options] --lang NAME - [argument…]",
                         "run [options] -- COMMAND [argument…]"});
constexpr auto kRunExamples = std::to_array<Text>({
    "cloche run script.py input.csv              # the interpreter follows from the name",
    "cloche run -- ls -la /                      # any command of the system",
    "echo 'print(6 * 7)' | cloche run --lang python -",
    "cloche run --wall 10s --memory 256M script.py",
    "cloche run --read ~/data --write ~/out --cwd ~/out script.py",
    "cloche run --policy policy.toml --report report.json script.py",
    "cloche run --workspace . -- make            # changes are a proposal: cloche diff last; cloche apply last",
    "cloche run --put in.csv:in.csv --get out.csv:out.csv script.py",
    "cloche run --allow-net api.example.org:443 --events log.jsonl fetch.py",
    "cloche run --allow-net api.example.org:443 "
    "--secret name=TOKEN,host=api.example.org:443,header=Authorization,env=REAL fetch.py",
    "cloche run --socket '/run/hero/*/rpc.sock=flow.read,log.*' client.py",
    "cloche run --tty -- bash                    # an interactive shell in a cell",
    "cloche run --outputs site --producer docs --apply make_docs.py",
});
constexpr auto kPlanUsages =
    std::to_array<Text>({"plan [options] SCRIPT [argument…]", "plan [options] -- COMMAND [argument…]"});
constexpr auto kPlanExamples = std::to_array<Text>({
    "cloche plan script.py",
    "cloche plan --backend bwrap --json -- ls > plan.json",
});
constexpr auto kDoctorUsages = std::to_array<Text>({"doctor [--json]"});
constexpr auto kDoctorExamples = std::to_array<Text>({"cloche doctor", "cloche doctor --json"});
constexpr auto kProveUsages = std::to_array<Text>(
    {"prove [options]", "prove --policy FILE [options]", "prove --against COMMAND [options]", "prove --list [--json]"});
constexpr auto kProveExamples = std::to_array<Text>({
    "cloche prove                                # every tier and backend that works here",
    "cloche prove --html proof.html --summary",
    "cloche prove --policy policy.toml --only D",
    "cloche prove --against 'bwrap --ro-bind / / --unshare-all'",
    "cloche prove --against 'bwrap --ro-bind /usr /usr --ro-bind @PROGRAMS@ @PROGRAMS@ --unshare-all --'",
    "cloche prove --against env                  # no sandbox: what would get through",
});
constexpr auto kPolicyUsages = std::to_array<Text>(
    {"policy presets", "policy show NAME|FILE", "policy check FILE [--ceiling FILE]", "policy schema"});
constexpr auto kPolicyExamples = std::to_array<Text>({
    "cloche policy show untrusted > policy.toml  # a file to start from",
    "cloche policy check policy.toml --ceiling ceiling.toml",
});
constexpr auto kReportUsages = std::to_array<Text>({"report show FILE|RUN", "report schema"});
constexpr auto kReportExamples = std::to_array<Text>({
    "cloche run --report report.json script.py; cloche report show report.json",
    "cloche run script.py; cloche report show last",
});
constexpr auto kWhyUsages = std::to_array<Text>({"why [options] [RUN|FILE]"});
constexpr auto kWhyExamples = std::to_array<Text>({
    "cloche run script.py; cloche why            # of the run that was started last",
    "cloche why 3f2a --json",
});
constexpr auto kKeeperUsages = std::to_array<Text>(
    {"keeper start [--blank N] [--parked N] [--idle DURATION]", "keeper status [--json]", "keeper stop"});
constexpr auto kKeeperExamples = std::to_array<Text>({
    "cloche keeper start; cloche run -- echo fast",
    "cloche keeper start --parked 8 --idle 1h",
    "cloche keeper status",
});
constexpr auto kOutputsUsages =
    std::to_array<Text>({"outputs diff|apply --into DIR --producer NAME [options] FILE|RUN|-",
                         "outputs status DIR [--json]", "outputs forget DIR PATH…"});
constexpr auto kOutputsExamples = std::to_array<Text>({
    "cloche outputs diff --into site --producer docs-plugin outputs.json",
    "cloche outputs apply --into site --producer docs-plugin --prune outputs.json",
    "cloche outputs apply --into site --producer docs-plugin last",
    "cloche outputs status site                  # who owns what, and what was edited since",
    "cloche outputs forget site index.html       # from now on it is yours",
});
constexpr auto kPsUsages = std::to_array<Text>({"ps [--all] [--json]"});
constexpr auto kPsExamples = std::to_array<Text>({
    "cloche ps                                   # what runs now",
    "cloche ps --all                             # and what ran",
});
constexpr auto kGcUsages =
    std::to_array<Text>({"gc [--older-than AGE] [--keep NUMBER] [--size SIZE] [--dry-run] [--json]"});
constexpr auto kGcExamples = std::to_array<Text>({
    "cloche gc --older-than 7d --keep 20         # old ones, but never the newest 20",
    "cloche gc --keep 0                          # every run that is over",
    "cloche gc --size 100M --dry-run",
});
constexpr auto kDiffUsages = std::to_array<Text>({"diff [options] RUN [path…]"});
constexpr auto kDiffExamples = std::to_array<Text>({
    "cloche diff last                            # of the run that was started last",
    "cloche diff last --stat",
    "cloche diff 3f2a src --exit-code",
});
constexpr auto kApplyUsages = std::to_array<Text>({"apply [options] RUN [path…]"});
constexpr auto kApplyExamples = std::to_array<Text>({
    "cloche apply last                           # all of it, or nothing",
    "cloche apply last src README.md             # parts; the rest is kept",
    "cloche apply last --hunk                    # asks for each hunk",
    "cloche apply last --hunks src/a.c:1,3-5",
    "cloche apply last --three-way               # merges what the host changed since",
});
constexpr auto kDiscardUsages = std::to_array<Text>({"discard [options] RUN"});
constexpr auto kDiscardExamples = std::to_array<Text>({"cloche discard last"});
constexpr auto kArtifactsUsages = std::to_array<Text>({"artifacts [options] RUN"});
constexpr auto kArtifactsExamples = std::to_array<Text>({
    "cloche run --artifact 'out/*.png' plot.py; cloche artifacts last --to plots",
});
constexpr auto kGrantUsages = std::to_array<Text>({"grant [--for DURATION] RUN host|socket|secret WHAT"});
constexpr auto kGrantExamples = std::to_array<Text>({
    "cloche grant last host api.example.org:443 --for 10m",
    "cloche grant 3f2a socket /run/hero/a/rpc.sock",
    "cloche grant 3f2a secret API_TOKEN --for 1h",
});
constexpr auto kRevokeUsages = std::to_array<Text>({"revoke RUN host|socket|secret WHAT"});
constexpr auto kRevokeExamples = std::to_array<Text>({
    "cloche revoke last host api.example.org:443",
    "cloche revoke 3f2a secret API_TOKEN",
});
constexpr auto kHelpUsages = std::to_array<Text>({"help [COMMAND]"});
constexpr auto kHelpExamples = std::to_array<Text>({"cloche help run"});

constexpr Text kRunText =
    "Runs a script or a command in a cell of its own. Nothing of the host is in it but the system below /usr, "
    "read-only, and what the policy grants. The guest's stdout and stderr are passed on as they come. Everything "
    "after the script's name, or after --, belongs to the guest and is never an option of cloche.\n"
    "Exit code: the guest's own; 128 + signal if it died of one; 2 wrong command line; 124 wall-clock limit; 125 "
    "cloche failed; 126 refused, nothing was run; 130 cancelled; 137 killed by a limit or by the filter; with "
    "--outputs 1 "
    "when the guest ended with 0 and its outputs were refused. SIGINT, "
    "SIGTERM "
    "and SIGHUP cancel: the guest gets SIGTERM and, after the grace period or a second signal, SIGKILL.\n"
    "Later wins: preset or policy file, then CLOCHE_… variables (CLOCHE_LIMITS_PIDS=32), then flags. Ceilings are "
    "applied last.";
constexpr Text kPlanText =
    "Shows what `run` with the same words would do, step by step and with the guarantee that each step serves, and "
    "does nothing of it. Exit code 126 when it would be refused.";

constexpr Text kProveText =
    "Tries attacks on this machine, as this user, and says of each whether it was held, got through (breached) or "
    "could "
    "not be tried. They are small programs that come with cloche; each runs as untrusted code would, and looks for "
    "canaries that were planted for it in a private directory. They are bounded, and harmless where they get through. "
    "What a tier does not promise is listed with the reason.\n"
    "--policy proves your own policy. --against proves any other command: what follows it is the program to run; it is "
    "split as a shell would, and no shell is used. A sandbox that does not show the whole file system has to show "
    "@PROGRAMS@, which stands for the directory with the programs and nothing else.\n"
    "Exit code: 0 all held; 1 something got through or could not be tried; 2 wrong command line; 125 cloche failed; "
    "126 the policy is refused; 130 stopped.";
constexpr Text kOutputsText =
    "A plugin hands back files as a JSON document and never writes itself. The document is checked as a whole, every "
    "path has one owner, and all of it is applied or nothing. A file that a person edited, that another producer owns "
    "or that nobody handed back is left alone, and stops everything unless an option says otherwise. Who owns what is "
    "in .cloche-outputs.json at the top of the target. RUN is a run of `cloche run --outputs`; a file of that name "
    "comes first.\n"
    "Exit code: 0 done; 1 conflicts, or a document, manifest or target that breaks a rule: nothing was changed; 2 "
    "wrong "
    "command line; 125 cloche or the kernel failed; 130 cancelled before anything was changed.";
constexpr Text kPsText =
    "Lists the runs of `cloche run` of this user: those that run now, with --all also those that are over (their "
    "outcome) and those that crashed (cloche itself was killed). Records lie in CLOCHE_STATE_DIR, else in "
    "$XDG_STATE_HOME/cloche, else in ~/.local/state/cloche.";
constexpr Text kGcText =
    "Removes records of runs with everything that they keep. Crashed runs and what an interrupted gc left are always "
    "removed; a run that lives or that another command uses never is.\n"
    "--older-than removes what ended longer ago; --size the oldest until the rest fits; --keep spares the newest, and "
    "alone removes all others. Without these the limits of the automatic collection hold: 7 days, 1 GiB and 1000 runs, "
    "or CLOCHE_KEEP_AGE, CLOCHE_KEEP_SIZE and CLOCHE_KEEP_RUNS. `cloche run` collects by itself once an hour.\n"
    "Exit code: 125 when something could not be removed, 126 when another gc is at work.";

constexpr Text kDiffText =
    "Shows what the guest added, changed, renamed and deleted in its workspace and what is still to be applied, and "
    "marks "
    "what deserves a second look: names that other programs obey (protected), what changed on the host since "
    "(conflict), "
    "and what cannot be applied. Texts are shown as a unified diff, other files by size and digest. RUN is an id, the "
    "beginning of one, or last; paths select files and directories.\n"
    "Exit code: 0, also with changes; 1 with --exit-code when there are some; 2 wrong command line; 126 no such run.";
constexpr Text kApplyText =
    "Writes what was selected to the workspace, all of it or nothing: a crash leaves the old state or the new one, and "
    "the "
    "next diff, apply, discard or run there ends what was interrupted. What changed on the host since the run is a "
    "conflict and "
    "is "
    "never overwritten without --force. Nothing is written outside of the workspace or through a link; fifos, sockets "
    "and "
    "devices, set-uid bits, owners and extended attributes never are. Protected names need --allow-protected. What was "
    "not "
    "selected is kept for later.\n"
    "Exit code: 0 applied; 1 conflicts or protected names, which are listed, and nothing was written; 2 wrong command "
    "line; 125 cloche failed; 126 no such run, or its workspace cannot be reached; 130 cancelled, and nothing was "
    "written.";
constexpr Text kDiscardText =
    "Removes what is kept of the run's changes, without asking; the workspace is not touched. The run's report stays.";

constexpr Text kArtifactsText =
    "Lists the files that `run --artifact` kept: digest, size, type and the path in the cell. With --to they are "
    "written "
    "into a directory, all of them or none, never through a link.\n"
    "Exit code: 0; 2 wrong command line; 125 cloche failed; 126 no such run, or a file is in the way; 130 "
    "cancelled.";

constexpr Text kGrantText =
    "Grants a host, a socket or a secret to a run that lives, until its end or for a while; what is granted already "
    "gets "
    "a new end. A host is a rule as in net.allow, and its ports must be among those that the run was started with; a "
    "socket or a secret must be listed in its policy. for = \"0s\" lists what is to be granted later. Nothing is "
    "granted "
    "that the ceilings of the run's start, or the operator's of today, do not allow. Only the run's own user and root "
    "may ask. RUN is an id, the beginning of one, or last.\n"
    "Exit code: 0 granted; 2 wrong command line; 125 cloche failed; 126 no such run, it is over or has no gateway, or "
    "the grant is refused.";
constexpr Text kWhyText =
    "Lists what the run asked for and was denied: files, connections, sockets, system calls, signals, limits; how "
    "often, by which program, and the line of a policy that would allow it, or why no policy may. What is noticed is "
    "the policy's `observe`: files (the default), calls, all or off; docs/denials.md says what can be seen on which "
    "kernel. RUN is an id, the beginning of one, or last; a file that `run --report` wrote will do, too.\n"
    "Exit code: 0 shown, also when nothing was denied; 1 no such run; 2 wrong command line.";
constexpr Text kRevokeText =
    "Takes back what a run was granted, by its policy or by `grant`, in the same words. What is open is closed: "
    "connections, tunnels, sockets, and connections that a secret went into. It can be granted again.\n"
    "Exit code: 0 taken back; 2 wrong command line; 125 cloche failed; 126 no such run, it is over or has no gateway, "
    "or it has no such grant.";

constexpr auto kLearnUsages =
    std::to_array<Text>({"learn [options] -- COMMAND [argument…]", "learn [options] SCRIPT [argument…]"});
constexpr auto kLearnExamples = std::to_array<Text>({
    "cloche learn --output make.toml -- make     # then: cloche run --policy make.toml -- make",
    "cloche learn --allow-net '*.example.org:443' --output fetch.toml fetch.py",
    "cloche learn --merge make.toml -- make test # shows what is missing as a diff, and asks",
});
constexpr Text kLearnText =
    "Runs a command under observation and writes the smallest policy that lets it succeed. It is never unprotected: it "
    "runs in a cell that shows it your files to read, but no place of secrets, and takes its changes to private copies "
    "that nobody keeps; it reaches no host and no socket but those that --allow-net and --socket name. Then it runs "
    "again, many times: with what it was seen to use, and with less and less of it. What it wanted and was not "
    "given is listed.\n"
    "Exit code: 0 learnt and checked; 1 the command failed, or the answer was no; nothing is written; 2 wrong command "
    "line; 125 cloche failed, or no policy lets it succeed; 126 refused; 130 cancelled.";

// The tables of options are constants of other files, whose addresses are known but whose values are not, here.
std::array<Section, 3> run_sections() {
  return {{{"Policy", kPolicyOptions}, {"Program", kProgramOptions}, {"Output", kOutputOptions}}};
}

struct Book {
  std::array<Section, 3> run = run_sections();
  std::array<Section, 1> doctor{{{"Options", kDoctorOptions}}};
  std::array<Section, 1> prove{{{"Options", kProveOptions}}};
  std::array<Section, 1> policy{{{"Options", kPolicyCommandOptions}}};
  std::array<Section, 1> report{{{"Options", kReportCommandOptions}}};
  std::array<Section, 1> why{{{"Options", kWhyCommandOptions}}};
  std::array<Section, 1> keeper{{{"Options", kKeeperOptions}}};
  std::array<Section, 1> outputs{{{"Options", kOutputsOptions}}};
  std::array<Section, 1> ps{{{"Options", kPsOptions}}};
  std::array<Section, 1> gc{{{"Options", kGcOptions}}};
  std::array<Section, 1> diff{{{"Options", kDiffOptions}}};
  std::array<Section, 1> apply{{{"Options", kApplyOptions}}};
  std::array<Section, 1> discard{{{"Options", kDiscardOptions}}};
  std::array<Section, 1> artifacts{{{"Options", kArtifactsOptions}}};
  std::array<Section, 1> grant{{{"Options", kGrantOptions}}};
  std::array<Section, 1> revoke{{{"Options", kRevokeOptions}}};
  std::array<Section, 1> learn{{{"Options", kLearnOptions}}};
  std::array<Command, 19> commands{{
      {"run", "run a script or a command in a cell", kRunUsages, kRunText, run, kRunExamples, run_command},
      {"plan", "show what run would do, without doing it", kPlanUsages, kPlanText, run, kPlanExamples, plan_command},
      {"learn", "write the policy that a command needs", kLearnUsages, kLearnText, learn, kLearnExamples,
       learn_command},
      {"doctor", "show what this host can enforce, and what to change for more", kDoctorUsages,
       "Tries this host out, with a test cell of its own. Exit code 0 when tier namespace is usable with the native "
       "backend, 1 when it is not.",
       doctor, kDoctorExamples, doctor_command},
      {"prove", "try attacks on this machine, and show what holds", kProveUsages, kProveText, prove, kProveExamples,
       prove_command},
      {"policy", "list, show and check policies", kPolicyUsages,
       "Policies are TOML files; presets are built in. `schema` prints the JSON Schema of the file. Exit code 126 when "
       "a policy is wrong or over the ceiling.",
       policy, kPolicyExamples, policy_command},
      {"report", "show a report for people, or its schema", kReportUsages,
       "Renders a report that `run --report` or `run --json` wrote, or that of a recorded run: its id, the beginning "
       "of one, or last.",
       report, kReportExamples, report_command},
      {"why", "show what a run was denied, and what would allow it", kWhyUsages, kWhyText, why, kWhyExamples,
       why_command},
      {"keeper", "keep cells ready, so that runs start faster", kKeeperUsages,
       "A keeper is a small resident process of your own user that prepares cells ahead; `cloche run` uses a running "
       "one by itself and starts none. Each cell serves one run. It holds what a run holds, under the same limits, and "
       "ends when nobody asked it for a while. It listens in the user's runtime directory (CLOCHE_KEEPER_DIR names "
       "another). Exit code 1 of status: none runs.",
       keeper, kKeeperExamples, keeper_command},
      {"outputs", "apply what a plugin handed back, and show who owns what", kOutputsUsages, kOutputsText, outputs,
       kOutputsExamples, outputs_command},
      {"ps", "list the runs", kPsUsages, kPsText, ps, kPsExamples, ps_command},
      {"gc", "remove records of runs that are over", kGcUsages, kGcText, gc, kGcExamples, gc_command},
      {"diff", "show what a run did to its workspace", kDiffUsages, kDiffText, diff, kDiffExamples, diff_command},
      {"apply", "write what a run did to the workspace", kApplyUsages, kApplyText, apply, kApplyExamples,
       apply_command},
      {"discard", "throw away what a run did to its workspace", kDiscardUsages, kDiscardText, discard, kDiscardExamples,
       discard_command},
      {"artifacts", "list the files that a run kept, and write them out", kArtifactsUsages, kArtifactsText, artifacts,
       kArtifactsExamples, artifacts_command},
      {"grant", "let a live run reach a host or a socket, or use a secret", kGrantUsages, kGrantText, grant,
       kGrantExamples, grant_command},
      {"revoke", "take such a grant back, and close what is open", kRevokeUsages, kRevokeText, revoke, kRevokeExamples,
       revoke_command},
      {"help",
       "show the help of a command",
       kHelpUsages,
       "The same as cloche COMMAND --help.",
       {},
       kHelpExamples,
       help_command},
  }};
};

const Book& book() {
  static const Book kBook;
  return kBook;
}

const Command* find_command(std::string_view name) {
  for (const Command& command : commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

std::string overview() {
  std::string out =
      "cloche runs code that nobody vouches for: sealed off, limited, and with a report of what held it.\n\n"
      "usage: cloche COMMAND [options] …\n\n";
  for (const Command& command : commands()) out += fmt::format("  {:<10} {}\n", command.name, command.summary);
  out += "\nexamples:\n";
  for (const Text example : std::span(kRunExamples).first(4)) out += fmt::format("  {}\n", example);
  out += "\n`cloche help COMMAND` shows its options; `cloche --version` prints the version.\n";
  return out;
}

std::unexpected<Error> no_such_command(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Command& command : commands()) names.push_back(command.name);
  const bool is_file = name.find('.') != std::string_view::npos || name.find('/') != std::string_view::npos;
  return fail(
      ErrorCode::kInvalidInput, "command line", fmt::format("there is no command {}", shown_text(name)),
      is_file ? "write cloche run before a script" : fmt::format("the nearest is {}", nearest_word(name, names)));
}

}  // namespace

std::span<const Command> commands() { return book().commands; }

std::string command_help(const Command& command) {
  std::string out;
  for (const Text usage : command.usages)
    out += fmt::format("{} cloche {}\n", out.empty() ? "usage:" : "      ", usage);
  Text text = command.text;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += '\n';
    for (const std::string& line : wrap(text.substr(0, end), 100, 20)) out += line + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  for (const Section& section : command.sections) {
    out += fmt::format("\n{}:\n{}", section.title, options_help(section.options));
  }
  out += "\nExamples:\n";
  for (const Text example : command.examples) out += fmt::format("  {}\n", example);
  return out;
}

int usage_error(const Error& error, std::string_view command) {
  Error with_help = error;
  if (with_help.hint.empty()) with_help.hint = fmt::format("cloche help {}", command);
  return complain(with_help, kExitUsage);
}

int show_help(std::string_view name) {
  const Command* command = find_command(name);
  return put(STDOUT_FILENO, command == nullptr ? overview() : command_help(*command)) ? 0 : 1;
}

int help_command(Words words) {
  if (words.empty()) return show_help({});
  if (find_command(words.front()) == nullptr) return usage_error(no_such_command(words.front()).error(), {});
  return show_help(words.front());
}

int dispatch(Words words) {
  if (words.empty()) {
    put(STDERR_FILENO, overview());
    return kExitUsage;
  }
  const std::string_view name = words.front();
  if (name == "--help" || name == "-h") return show_help({});
  const Command* command = find_command(name);
  if (command == nullptr) return usage_error(no_such_command(name).error(), {});
  return command->run(words.subspan(1));
}

}  // namespace cloche::cli
