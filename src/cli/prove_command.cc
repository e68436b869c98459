#include <fmt/format.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>

#include "base/name_pattern.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/prove_progress.h"
#include "cli/report_file.h"
#include "cli/run_options.h"
#include "cli/secret_grants.h"
#include "host/probe.h"
#include "observe/secret_host.h"
#include "plan/doctor.h"
#include "prove/dry_run.h"
#include "prove/manifest.h"
#include "prove/runner.h"
#include "prove/words.h"
#include "report/text.h"
#include "sys/users.h"

namespace cloche::cli {
namespace {

constexpr int kExitNotHeld = 1;
constexpr int kExitStopped = 130;

constexpr auto kOptions = std::to_array<OptionSpec>({
    {"--tier", 0, "TIER", "Only this tier: process or namespace"},
    {"--backend", 0, "NAME", "Only this backend: native or bwrap"},
    {"--policy", 'P', "FILE", "Proves this policy: the programs get leave to run, and nothing else"},
    {"--against", 0, "COMMAND",
     "Proves another sandbox: a command that is followed by the program to run; @PROGRAMS@ is the directory that holds "
     "the programs"},
    {"--only", 0, "PATTERN", "Only attacks of this name, program or threat, such as 'read-*' or B", {}, Times::kMany},
    {"--list", 'l', {}, "Lists the attacks, and tries none"},
    {"--jobs", 0, "NUMBER", "How many at once"},
    {"--summary", 's', {}, "The sums and what was not held, not each attack"},
    {"--json", 'j', {}, "As JSON on stdout"},
    {"--html", 0, "FILE", "Writes a page for people, in one file that needs no other"},
    {"--keep", 0, {}, "Leaves the directory with the programs and the bait, and says where it is"},
    {"--quiet", 'q', {}, "No progress on stderr"},
    {"--color", 0, "WHEN", "auto, always or never; NO_COLOR is honoured"},
    {"--no-color", 0, {}, "The same as --color never"},
    {"--help", 'h', {}, "This text"},
});

volatile std::sig_atomic_t g_stopped = 0;
void stop(int /*number*/) { g_stopped = 1; }

class SignalsStop {
 public:
  SignalsStop() {
    struct sigaction action{};
    action.sa_handler = stop;
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
  }
};

std::unexpected<Error> wrong(const char* step, std::string message, std::string hint) {
  return fail(ErrorCode::kInvalidInput, step, std::move(message), std::move(hint));
}

// What the command line says, checked before anything is done.
struct Asked {
  prove::Words against;
  std::optional<std::string> policy;
  prove::Granted granted{};  // by it
  std::size_t jobs = 0;      // 0: as many as processors
  std::optional<ReportFile> html;
  Colour colour = Colour::kNever;
};

// As execvp looks for it, but before every attack fails for want of it. What lies beside us is named in full: the
// attacks run in other directories.
Status find_program(std::string& program) {
  const auto is_there = [](const std::string& path) {
    struct stat st{};
    return ::stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) && ::access(path.c_str(), X_OK) == 0;
  };
  std::array<char, PATH_MAX> whole{};
  if (program.find('/') != std::string::npos) {
    if (is_there(program) && ::realpath(program.c_str(), whole.data()) != nullptr) {
      if (!program.starts_with('/')) program = whole.data();
      return {};
    }
  } else {
    const char* variable = std::getenv("PATH");
    std::string_view places = variable != nullptr ? variable : "/bin:/usr/bin";
    while (true) {
      const std::size_t end = places.find(':');
      const std::string_view place = places.substr(0, end);
      if (place.starts_with('/') && is_there(fmt::format("{}/{}", place, program))) return {};
      if (end == std::string_view::npos) break;
      places.remove_prefix(end + 1);
    }
  }
  return wrong("--against", fmt::format("{} is no program that can be run here", shown_text(program)),
               "name one that is installed, or its whole path");
}

Result<Asked> read(const Parsed& parsed) {
  Asked out;
  if (!parsed.operands.empty())
    return wrong("command line", "prove takes no operand", "quote the command of --against");
  if (parsed.has("--against")) {
    auto words = prove::split_words(parsed.value("--against"));
    if (!words) return wrong("--against", words.error().message, words.error().hint);
    out.against = std::move(*words);
    if (out.against.empty()) return wrong("--against", "the command is empty", "write 'env' for no sandbox at all");
    CLOCHE_TRY(find_program(out.against.front()));
    if (parsed.has("--policy") || parsed.has("--tier") || parsed.has("--backend")) {
      return wrong("--against", "another command knows no tier, backend or policy of ours", "leave them out");
    }
  }
  if (parsed.has("--policy")) {
    out.policy = parsed.value("--policy");
    if (::access(out.policy->c_str(), R_OK) != 0) {
      return std::unexpected(Error{ErrorCode::kInvalidInput, "--policy", errno,
                                   fmt::format("{} cannot be read", shown_text(*out.policy)), "name a policy file"});
    }
    std::array<char, PATH_MAX> path{};  // the programs run in other directories
    if (::realpath(out.policy->c_str(), path.data()) != nullptr) out.policy = path.data();
  }
  if (parsed.has("--jobs")) {
    const std::string text = parsed.value("--jobs");
    const bool digits =
        !text.empty() && text.size() <= 2 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    out.jobs = digits ? std::stoul(text) : 0;
    if (out.jobs < 1 || out.jobs > 32)
      return wrong("--jobs", fmt::format("{} is not 1 to 32", shown_text(text)), "write a number");
  }
  const std::string when = parsed.has("--no-color") ? "never"
                           : parsed.has("--color")  ? parsed.value("--color")
                                                    : "auto";
  CLOCHE_TRY_ASSIGN(out.colour, choose_colour(when, STDOUT_FILENO));
  if (parsed.has("--html")) {
    CLOCHE_TRY_ASSIGN(ReportFile file, ReportFile::prepare(parsed.value("--html"), "--html"));
    out.html.emplace(std::move(file));
  }
  return out;
}

Result<std::vector<prove::Attack>> choose(std::vector<prove::Attack> attacks, const Parsed& parsed) {
  std::vector<std::string> patterns;
  for (const Given& given : parsed.options) {
    if (given.spec->name == "--only") patterns.push_back(given.value);
  }
  if (patterns.empty()) return attacks;
  for (const std::string& pattern : patterns) {
    const auto is_meant = [&pattern](const prove::Attack& one) {
      return name_matches(pattern, one.name) || name_matches(pattern, one.victim) ||
             pattern == std::string(1, prove::letter_of(one.threat));
    };
    if (std::ranges::none_of(attacks, is_meant)) {
      return wrong("--only", fmt::format("no attack is called {}", shown_text(pattern)),
                   "cloche prove --list names them");
    }
  }
  std::erase_if(attacks, [&patterns](const prove::Attack& one) {
    return std::ranges::none_of(patterns, [&one](const std::string& pattern) {
      return name_matches(pattern, one.name) || name_matches(pattern, one.victim) ||
             pattern == std::string(1, prove::letter_of(one.threat));
    });
  });
  return attacks;
}

std::string own_path() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  return {path.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

// How the user's home directory may be spelled.
prove::Words homes_of(const Environment& env) {
  prove::Words out;
  const auto add = [&out](const std::string& path) {
    if (path.starts_with('/') && std::ranges::find(out, path) == out.end()) out.push_back(path);
  };
  if (const auto home = env.find("HOME"); home != env.end()) add(home->second);
  for (const sys::User& user : sys::users_of_this_host()) {
    if (user.uid == ::geteuid()) add(user.home);
  }
  for (const std::string& home : prove::Words(out)) {
    std::array<char, PATH_MAX> path{};
    if (::realpath(home.c_str(), path.data()) != nullptr) add(path.data());
  }
  return out;
}

// Of `cloche run`, to run under that policy.
prove::Words options_with(const Parsed& parsed, const std::string& file) {
  prove::Words out{"--policy", file};
  for (const char* option : {"--tier", "--backend"}) {
    if (parsed.has(option)) out.insert(out.end(), {option, parsed.value(option)});
  }
  return out;
}

// What that policy grants; fails where nothing runs with it at all, and says why.
Result<prove::Granted> check_policy(const Parsed& parsed, const std::string& file) {
  prove::Words words = options_with(parsed, file);
  words.insert(words.end(), {"--", "/bin/true"});
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  CLOCHE_TRY_ASSIGN(const RunArgs args, read_run_args(pointers));
  CLOCHE_TRY_ASSIGN(const Plan plan, plan_of(args));
  const Environment env = read_environment();
  CLOCHE_TRY_ASSIGN(const Policy policy, make_policy(args, env));
  const prove::Words homes = homes_of(env);
  prove::Granted granted = prove::granted_by(policy, plan, homes);
  Secrets known = secrets_of_users(homes.empty() ? "" : homes.front());
  for (const std::string& home : prove::Words(known.homes)) add_link_targets(known, home);
  granted.secrets = secret_grants(policy, homes, known);
  return granted;
}

// Which columns there are, and what a reader has to know about them.
Status lay_out(const Asked& asked, const Parsed& parsed, const DoctorReport& doctor, prove::Plan& plan,
               prove::Proof& proof) {
  plan.caller.user = ::geteuid() == 0 ? prove::User::kRoot : prove::User::kOrdinary;
  const CgroupFacts& cgroup = doctor.host.cgroup;
  if (!cgroup.at(Controller::kPids) || !cgroup.at(Controller::kMemory) || !cgroup.at(Controller::kCpu)) {
    plan.caller.cgroups = prove::Cgroups::kMissing;
  }
  plan.cloche = own_path();
  plan.jobs = asked.jobs != 0 ? asked.jobs : std::clamp<std::size_t>(doctor.host.cpus * 2, 2, 8);
  if (!asked.against.empty()) {
    plan.against = asked.against;
    plan.columns.push_back({prove::Kind::kAgainst, "against", parsed.value("--against")});
    proof.notes.emplace_back(
        "another command is tried with every attack, while a tier of cloche is excused from what it says it does not "
        "promise, and tier 0 has lesser variants of a few; so sums of the two do not compare, single attacks do");
    proof.notes.emplace_back(
        "it is told of no limit: attacks about limits show what it stops by itself, or by options in the command");
  } else if (asked.policy) {
    plan.policy = options_with(parsed, *asked.policy);
    plan.granted = asked.granted;
    plan.columns.push_back({prove::Kind::kPolicy, "policy", parsed.value("--policy")});
    proof.notes.push_back(fmt::format("the policy runs on {}, which is judged by what it promises",
                                      prove::title_of(prove::walls_of(prove::Kind::kPolicy, asked.granted))));
    proof.notes.emplace_back(
        "attacks that need a grant of their own, or use one of the policy's, are left out; limits are narrowed where "
        "an attack is about them");
  } else {
    CLOCHE_TRY_ASSIGN(prove::Columns columns,
                      prove::columns_for(doctor, parsed.value("--tier"), parsed.value("--backend")));
    plan.columns = columns.usable;
    proof.unusable = std::move(columns.unusable);
    if (plan.caller.cgroups == prove::Cgroups::kMissing) {
      plan.limits = {"--limits-mode", "best-effort"};
      proof.notes.emplace_back(
          "this user has no cgroups, so limits are those that single processes can have (limits.mode = best-effort)");
    }
  }
  proof.columns = plan.columns;
  return {};
}

// Tier 0 keeps nothing read-only inside of what may be written, so no program could be started.
Status check_apart(const prove::Plan& plan, const prove::Stage& stage) {
  if (prove::walls_of(prove::Kind::kPolicy, plan.granted) != prove::Kind::kProcess) return {};
  const std::string place = prove::place_around(stage.path(), plan.granted.writable);
  if (place.empty()) return {};
  return fail(ErrorCode::kRefused, "files.write",
              fmt::format("{} is granted, and the attack programs lie in it, at {}", shown_text(place),
                          shown_text(stage.path())),
              "prove it with --tier namespace, or grant a directory below it");
}

int show(const prove::Proof& proof, const Asked& asked, const Parsed& parsed) {
  if (asked.html) {
    if (const Status written = asked.html->write(prove::to_html(proof)); !written)
      return complain(written.error(), kExitFailed);
  }
  const auto extent = parsed.has("--summary") ? prove::Extent::kSummary : prove::Extent::kWhole;
  const std::string text = parsed.has("--json") ? prove::to_json(proof) : prove::render(proof, extent, asked.colour);
  if (!put(STDOUT_FILENO, text)) return kExitFailed;
  return proof.all_held() ? 0 : kExitNotHeld;
}

int prove_all(const Asked& asked, const Parsed& parsed, const std::string& folder,
              const std::vector<prove::Attack>& attacks) {
  const auto began = Clock::now();
  const DoctorReport doctor = examine(probe_full());
  prove::Plan plan;
  prove::Proof proof{.version = CLOCHE_VERSION, .date = now_text(), .host = prove::facts_of(doctor.host)};
  if (const Status done = lay_out(asked, parsed, doctor, plan, proof); !done) return usage_error(done.error(), "prove");
  plan.env = read_environment();

  const SignalsStop stop_by_signals;
  auto stage = prove::Stage::make(folder, attacks, plan.env, plan.granted);
  if (!stage) return complain(stage.error(), kExitFailed);
  if (const Status apart = check_apart(plan, *stage); !apart)
    return complain(apart.error(), exit_code_of(apart.error()));
  if (const std::string place = prove::place_around(stage->path(), plan.granted.places); !place.empty()) {
    prove::bait_is_granted(plan.granted, place);
  } else if (!plan.policy.empty()) {
    // Not where the stage lies in a grant: then it is the runs' own state, which lies there, that some are refused for.
    const auto refusal = prove::why_refused(plan, *stage);
    if (!refusal) return complain(refusal.error(), kExitFailed);
    if (!refusal->empty()) return put(STDERR_FILENO, printable(*refusal) + "\n") ? kExitRefused : kExitFailed;
  }
  if (parsed.has("--keep")) {
    stage->keep();
    put(STDERR_FILENO, fmt::format("cloche: prove: kept: {}\n", printable(stage->path())));
  }
  ProveProgress progress(attacks, plan.columns,
                         parsed.has("--quiet") ? ProveProgress::Voice::kQuiet : ProveProgress::Voice::kSpeak);
  plan.tell = [&progress](const prove::Row& row, std::size_t column) { progress(row, column); };
  plan.go_on = [] { return g_stopped == 0; };
  auto rows = prove::try_all(plan, *stage, attacks);
  progress.end();
  if (!rows) return complain(rows.error(), rows.error().errno_value == ECANCELED ? kExitStopped : kExitFailed);
  proof.rows = std::move(*rows);
  proof.granted_secrets = plan.granted.secrets;
  proof.left_out_by_grant = prove::count_granted(proof.rows, plan.granted);
  proof.took = std::chrono::duration_cast<Millis>(Clock::now() - began);
  return show(proof, asked, parsed);
}

}  // namespace

constinit const Table kProveOptions = kOptions;

int prove_command(Words words) {
  const std::array<Table, 1> tables{kProveOptions};
  const auto parsed = parse_options(tables, words, Grammar::kMixed);
  if (!parsed) return usage_error(parsed.error(), "prove");
  if (parsed->has("--help")) return show_help("prove");
  auto asked = read(*parsed);
  if (!asked) return usage_error(asked.error(), "prove");
  const auto folder = prove::find_attacks();
  if (!folder) return complain(folder.error(), kExitFailed);
  const auto text = prove::manifest_in(*folder);
  if (!text) return complain(text.error(), kExitFailed);
  auto known = prove::read_manifest(*text);
  if (!known) return complain(known.error(), kExitFailed);
  const auto attacks = choose(std::move(*known), *parsed);
  if (!attacks) return usage_error(attacks.error(), "prove");
  if (asked->policy && !parsed->has("--list")) {
    auto granted = check_policy(*parsed, *asked->policy);
    if (!granted) return complain(granted.error(), exit_code_of(granted.error()));
    asked->granted = std::move(*granted);
  }
  if (parsed->has("--list")) {
    return put(STDOUT_FILENO, parsed->has("--json") ? prove::list_to_json(*attacks) : prove::render_list(*attacks))
               ? 0
               : kExitFailed;
  }
  return prove_all(*asked, *parsed, *folder, *attacks);
}

}  // namespace cloche::cli
