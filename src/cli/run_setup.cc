// From a command line to a policy and a request.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <utility>

#include "base/units.h"
#include "cli/policy_files.h"
#include "cli/run_options.h"
#include "engine/engine.h"
#include "engine/program.h"
#include "engine/run_control.h"
#include "engine/script.h"
#include "host/probe.h"
#include "observe/below.h"
#include "plan/steps.h"
#include "policy/check.h"
#include "policy/overrides.h"
#include "policy/presets.h"
#include "sys/file.h"

namespace cloche::cli {
namespace {

Result<std::string> read_standard_input() {
  std::string text;
  char chunk[16 * 1024];
  for (;;) {
    const ssize_t n = ::read(STDIN_FILENO, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "script", "standard input cannot be read", "name a file instead of -");
    if (n == 0) return text;
    text.append(chunk, static_cast<std::size_t>(n));
    if (text.size() > kMaxScript.count) return text;  // script_from_text refuses it
  }
}

// Not by getpwuid(3): a static program would load the name services' modules for it.
std::string home_of(const Environment& env) {
  const auto home = env.find("HOME");
  return home != env.end() && home->second.starts_with('/') ? home->second : "/nonexistent";
}

Result<Script> make_script(const RunArgs& args, const ScriptContext& context) {
  const std::string language = args.parsed.value("--lang");
  if (!args.from_stdin()) return script_from_file(args.parsed.operands.front(), language, context);
  CLOCHE_TRY_ASSIGN(std::string text, read_standard_input());
  return script_from_text(std::move(text), language, context);
}

}  // namespace

std::string current_directory() {
  char buffer[PATH_MAX];
  return ::getcwd(buffer, sizeof buffer) != nullptr ? buffer : "/";
}

std::vector<std::string> named_ceilings(const RunArgs& args) {
  std::vector<std::string> out;
  for (const Given& given : args.parsed.options) {
    if (given.spec->name == "--ceiling") out.push_back(given.value);
  }
  return out;
}

void keep_advice_below_ceilings(Report& report, const RunArgs& args, const Environment& env) {
  if (report.denials.empty()) return;
  if (const auto ceilings = load_ceilings(named_ceilings(args), env)) observe::keep_below(report.denials, *ceilings);
}

void name_flags_above(std::vector<Denial>& denials, const RunArgs& args) {
  for (Denial& denial : denials) {
    const std::string key = denial.allow.substr(0, denial.allow.find(" = "));
    if (denial.what != "limit" || key.empty()) continue;
    for (const Given& given : args.parsed.options) {
      const bool is_set = given.spec->name == "--set" && given.value.starts_with(key + "=");
      if (given.spec->key != key && !is_set) continue;
      denial.allow += fmt::format("  # and leave out {}{}, or raise it", given.spec->name, is_set ? " " + key : "");
      break;
    }
  }
}

Result<Policy> make_policy(const RunArgs& args, const Environment& env,
                           const std::function<bool(const Policy&)>& is_known) {
  const Parsed& parsed = args.parsed;
  Policy policy;
  if (parsed.has("--policy")) {
    CLOCHE_TRY_ASSIGN(policy, load_policy(parsed.value("--policy")));
  } else {
    CLOCHE_TRY_ASSIGN(policy, preset(parsed.has("--preset") ? parsed.value("--preset") : "untrusted"));
  }
  const std::string origin = policy.name;
  const Policy start = policy;
  CLOCHE_TRY(apply_env_overrides(policy, env));
  CLOCHE_TRY(apply_flags(policy, args));
  anchor_workspaces(policy, current_directory());
  // A preset that nothing was added to is right by its own tests.
  if ((parsed.has("--policy") || policy != start) && !(is_known && is_known(policy))) CLOCHE_TRY(check(policy, origin));
  CLOCHE_TRY(enforce_ceilings(policy, named_ceilings(args), env));
  return policy;
}

std::shared_ptr<Control> make_control(const RunArgs& args, const Policy& policy, const Environment& env,
                                      const std::string& id) {
  if (!policy.needs_gateway()) return nullptr;
  auto ceilings = load_ceilings(named_ceilings(args), env);
  if (!ceilings) return nullptr;
  auto made = RunControl::make(env, id, LiveGrants(policy, *ceilings));
  return made ? std::move(*made) : nullptr;
}

Result<Request> make_request(const RunArgs& args, const Policy& policy, Environment env) {
  Request request;
  request.home = home_of(env);
  request.env = std::move(env);
  request.tty = args.parsed.has("--tty");
  // A person at a terminal ends a session; elsewhere a forgotten run must end by itself (N2).
  request.cancellable = request.tty;
  std::vector<std::string> exec = expand_home(policy.files.exec, request.home);
  if (policy.files.exec_writable) {
    for (std::string& path : expand_home(policy.workspace.path, request.home)) exec.push_back(std::move(path));
  }
  const std::string place = starting_place(policy, request.home);
  for (const auto& [from, to] : args.puts) request.puts.push_back({from, to.starts_with('/') ? to : place + "/" + to});
  request.keeps_files = !args.artifacts.empty() || !args.gets.empty();
  const std::vector<std::string>& words = args.parsed.operands;
  if (args.parsed.dashes) {
    request.argv = words;
    ProgramContext context;
    context.exec_grants = exec;
    context.cwd = current_directory();
    CLOCHE_TRY_ASSIGN(request.program, resolve_program(words.front(), context));
    return request;
  }
  ScriptContext context;
  context.memory = policy.limits.memory;
  context.exec_grants = exec;
  CLOCHE_TRY_ASSIGN(request.script, make_script(args, context));
  request.argv.assign(words.begin() + 1, words.end());
  return request;
}

HostFacts probe_for(const Policy& policy, const Request& request) {
  HostFacts host = probe_fast();
  complete_facts(host, policy, request);
  return host;
}

}  // namespace cloche::cli
