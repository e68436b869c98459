#include "cli/learn_session.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/units.h"
#include "cli/console.h"
#include "cli/learn_secrets.h"
#include "cli/learn_view.h"
#include "cli/policy_files.h"
#include "plan/steps.h"
#include "policy/check.h"
#include "policy/key_value.h"
#include "policy/overrides.h"
#include "policy/presets.h"
#include "policy/way_out.h"

namespace cloche::cli {
namespace {

using learn::Collected;
using learn::Hidden;
using learn::Item;
using learn::Kind;

constexpr const char* kStep = "learn";

std::vector<std::string> granted_paths(const Policy& policy, const std::string& home) {
  std::vector<std::string> out;
  for (const auto* list : {&policy.files.read, &policy.files.write, &policy.files.exec, &policy.workspace.path}) {
    for (std::string& path : expand_home(*list, home)) out.push_back(clean_path(path));
  }
  return out;
}

bool covered(const std::vector<std::string>& by, const std::string& path) {
  return std::ranges::any_of(by, [&](const std::string& outer) { return path_covers(outer, path); });
}

bool never_began(const Report& report) {
  return report.outcome.kind == OutcomeKind::kRefused || report.outcome.kind == OutcomeKind::kFailed;
}

std::string how_it_ended(const Outcome& outcome) {
  if (outcome.kind == OutcomeKind::kExited) return fmt::format("it ended with exit code {}", outcome.code);
  if (outcome.kind != OutcomeKind::kSignaled) return outcome.message;
  const char* name = ::sigabbrev_np(outcome.signal);
  return fmt::format("it was killed by signal {}{}", outcome.signal,
                     name == nullptr ? "" : fmt::format(" (SIG{})", name));
}

// Names only: the values are what is kept.
std::string withheld_text(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 12;
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kMost; ++i) {
    out += (out.empty() ? "" : ", ") + learn::harmless(names[i]);
  }
  if (names.size() > kMost) out += fmt::format(" and {} more", names.size() - kMost);
  if (out.empty()) return out;
  return fmt::format("; withheld as secret-like: {} (--pass NAME gives one, and none that no --pass names)", out);
}

// Files, hosts and sockets with a path are told by what was seen and by the gateway, with the option for each. What
// no option lets through is told here.
bool is_told_of(const Denial& denial, const NetworkUse* heard) {
  if (denial.what == "bind") return !denial.never.empty();
  if (denial.what == "connect") return heard == nullptr && !denial.never.empty();
  return denial.what == "syscall" || denial.what == "socket" || denial.what == "signal";
}

// The option for more of what it had too little of.
std::string_view limit_flag(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::kWall:
      return "--wall";
    case OutcomeKind::kCpu:
      return "--cpu-time";
    case OutcomeKind::kOom:
      return "--memory";
    case OutcomeKind::kPids:
      return "--pids";
    case OutcomeKind::kDisk:
      return "--disk";
    case OutcomeKind::kOutput:
      return "--set limits.output=SIZE";
    default:
      return {};
  }
}

}  // namespace

// Without links: places of secrets in it are known by where they really are.
std::string LearnSession::home() const {
  const auto found = env_.find("HOME");
  if (found == env_.end() || !found->second.starts_with('/')) return "/nonexistent";
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(found->second, error);
  return error ? clean_path(found->second) : real.string();
}

void LearnSession::say(const std::string& line) const {
  if (!options_.quiet) put(STDERR_FILENO, "cloche: learn: " + line + "\n");
}

bool LearnSession::allowed(const Policy& policy) const {
  return check(policy, {}).has_value() &&
         std::ranges::all_of(ceilings_, [&](const Ceiling& ceiling) { return enforce(policy, ceiling).has_value(); });
}

void LearnSession::want(const std::vector<learn::Wanted>& more) {
  constexpr std::size_t kMost = 256;
  for (const learn::Wanted& one : more) {
    if (wanted_.size() < kMost) learn::want_once(wanted_, one);
  }
}

Status LearnSession::prepare() {
  if (options_.policy_file.empty()) {
    CLOCHE_TRY_ASSIGN(parent_, preset(options_.preset));
  } else {
    CLOCHE_TRY_ASSIGN(parent_, load_policy(options_.policy_file));
  }
  base_ = parent_;
  secrets_ = secrets_of_host(env_, home(), current_directory());
  CLOCHE_TRY(apply_env_overrides(base_, env_));
  // Hosts and sockets that may be reached while it is learnt; the policy gets those that are.
  RunArgs rest = args_;
  rest.way_out.allow.clear();
  rest.way_out.sockets.clear();
  rest.way_out.rules.clear();
  CLOCHE_TRY(apply_flags(base_, rest));
  anchor_workspaces(base_, current_directory());
  // Private copies take the native backend of tier 1.
  base_.tier = std::max(base_.tier, Tier::kNamespace);
  if (base_.backend != BackendChoice::kNative) base_.backend = BackendChoice::kAuto;
  std::erase(base_.weaken, Weakening::kNoBackend);
  CLOCHE_TRY(check(base_, parent_.name));
  CLOCHE_TRY_ASSIGN(ceilings_, load_ceilings(named_ceilings(args_), env_));
  const Policy most = with_way_out(base_);
  CLOCHE_TRY(check(most, parent_.name));
  for (const Ceiling& ceiling : ceilings_) CLOCHE_TRY(enforce(most, ceiling));
  CLOCHE_TRY_ASSIGN(plan_, plan_of(base_, home()));
  wide_ = base_.limits;
  // Each by itself: an operator may bound one of them. What a flag says stays as it is said.
  const auto widen = [&](std::string_view flag, auto change) {
    if (args_.parsed.has(flag)) return;
    Policy tried = base_;
    tried.limits = wide_;
    change(tried.limits);
    if (allowed(tried)) wide_ = tried.limits;
  };
  widen("--wall", [](Limits& l) { l.wall = std::max(l.wall.value_or(Millis(0)), Millis(600'000)); });
  widen("--cpu-time", [](Limits& l) { l.cpu_time = std::max(l.cpu_time.value_or(Millis(0)), Millis(600'000)); });
  widen("--memory", [](Limits& l) { l.memory = std::max(l.memory, gibibytes(2)); });
  widen("--pids", [](Limits& l) { l.pids = std::max<std::uint64_t>(l.pids, 1024); });
  widen("--disk", [](Limits& l) { l.disk = std::max(l.disk, gibibytes(1)); });
  widen("--inodes", [](Limits& l) { l.inodes = std::max<std::uint64_t>(l.inodes, 262'144); });
  widen({}, [](Limits& l) { l.output = std::max(l.output, mebibytes(64)); });
  // No cell gets more than whoever starts it may have.
  rlimit own{};
  const bool known = ::getrlimit(RLIMIT_NOFILE, &own) == 0;
  widen({}, [&](Limits& l) {
    l.files = std::max<std::uint64_t>(l.files, known ? std::min<rlim_t>(own.rlim_max, 4096) : 0);
  });
  return {};
}

// A command that cannot write where it stands would fail, and nobody would know why.
void LearnSession::tell_of_secrets() const {
  if (!base_.workspace.path.empty()) return;
  switch (secrets_below(current_directory(), secrets_)) {
    case Below::kNothing:
      return;
    case Below::kSecrets:
      return say(
          "there are places of secrets below the current directory: it is shown piece by piece, without them, and "
          "nothing can be made in it itself; --workspace . shows all of it");
    case Below::kUnknown:
      return say(
          "the current directory could not be searched for places of secrets (too much in it, or not readable): "
          "it is shown piece by piece, and nothing can be made in it itself; --workspace . shows all of it");
  }
}

Policy LearnSession::widened(const std::vector<Item>& items) const {
  Policy policy = learn::compose(base_, items, learn::Changes::kProposed);
  policy.limits = wide_;
  settle(policy);
  return policy;
}

void LearnSession::settle(Policy& policy) const {
  // A directory of which nothing is granted is not there to start in.
  if (policy.cwd != base_.cwd && !shows(policy, policy.cwd)) policy.cwd = base_.cwd;
  add_rules(policy);
}

Policy LearnSession::with_way_out(Policy policy) const {
  for (const NetGrant& grant : args_.way_out.allow) policy.net_allow.push_back(grant);
  for (const SocketGrant& grant : args_.way_out.sockets) policy.sockets.push_back(grant);
  add_rules(policy);
  return policy;
}

// The methods that a flag allows on a socket go wherever the socket goes.
void LearnSession::add_rules(Policy& policy) const {
  for (const SocketRule& rule : args_.way_out.rules) {
    const bool has = std::ranges::find(policy.sockets, rule.path, &SocketGrant::path) != policy.sockets.end();
    const bool told = std::ranges::find(policy.socket_rules, rule.path, &SocketRule::path) != policy.socket_rules.end();
    if (has && !told) policy.socket_rules.push_back(rule);
  }
}

learn::Setting LearnSession::setting(const Policy& of_run, Hidden hidden) const {
  learn::Setting out;
  out.secrets = secrets_;
  out.hidden = hidden;
  out.cwd = current_directory();
  out.was_granted = [paths = granted_paths(of_run, home())](const std::string& path) { return covered(paths, path); };
  out.already = [this, paths = granted_paths(base_, home())](const std::string& path) {
    std::uint64_t rights = 0;
    for (const Reach& reach : plan_->reach) {
      // What a cell has of its own has the name of the host's and nothing else of it.
      const bool own = reach.path == "/" || learn::is_cells_own(reach.path);
      if (own && !covered(paths, reach.path)) continue;
      if (path_covers(reach.path, path)) rights |= reach.rights;
    }
    return rights;
  };
  return out;
}

Collected LearnSession::seen_in(const LearnTry& tried, Hidden hidden) const {
  Collected out = learn::collect(tried.seen, setting(tried.policy, hidden), learn_host());
  if (tried.report.network) {
    Collected net = learn::collect_network(*tried.report.network);
    for (Item& item : net.items) {
      if (is_reached_already(item)) continue;
      // With rules about its calls a socket keeps the name that the rules have for it.
      for (const SocketRule& rule : args_.way_out.rules) {
        if (item.kind == Kind::kSocket && pattern_covers_path(rule.path, item.what)) item.what = rule.path;
      }
      out.items.push_back(std::move(item));
    }
    for (learn::Wanted& one : net.wanted) out.wanted.push_back(std::move(one));
  }
  const NetworkUse* heard = tried.report.network ? &*tried.report.network : nullptr;
  for (learn::Wanted& one : learn::collect_loopback(tried.seen, heard)) out.wanted.push_back(std::move(one));
  for (const Denial& denial : tried.report.denials) {
    if (!is_told_of(denial, heard)) continue;
    out.wanted.push_back({fmt::format("{} {}", denial.what, learn::harmless(denial.detail)),
                          denial.never.empty() ? denial.allow + " lets it through" : denial.never});
  }
  return out;
}

bool LearnSession::is_reached_already(const Item& item) const {
  if (item.kind == Kind::kSocket) {
    return std::ranges::any_of(base_.sockets,
                               [&](const SocketGrant& grant) { return pattern_covers_path(grant.path, item.what); });
  }
  return std::ranges::any_of(base_.net_allow,
                             [&](const NetGrant& grant) { return rule_covers(grant.rule, item.what); });
}

bool LearnSession::shows(const Policy& policy, const std::string& path) const {
  const std::vector<std::string> paths = granted_paths(policy, home());
  // A directory above a grant is there as well, with nothing else in it.
  return covered(paths, path) ||
         std::ranges::any_of(paths, [&](const std::string& grant) { return path_covers(path, grant); });
}

// Without what the policy gave already: more of the same would change nothing.
std::vector<Item> LearnSession::not_given(std::vector<Item> items, const Policy& policy) const {
  Policy runs = policy;
  runs.files.read.clear();
  if (!runs.files.exec_writable) runs.workspace.path.clear();
  Policy changes = policy;
  changes.files = {};
  const std::vector<std::string> readable = granted_paths(policy, home());
  const std::vector<std::string> executable = granted_paths(runs, home());
  const std::vector<std::string> changeable = granted_paths(changes, home());
  std::erase_if(items, [&](const Item& item) {
    switch (item.kind) {
      case Kind::kRead:
        return covered(readable, item.what);
      case Kind::kExec:
        return covered(executable, item.what);
      case Kind::kChange:
        return covered(changeable, item.what);
      default:
        return true;  // seen because it was there
    }
  });
  return items;
}

std::size_t LearnSession::add_new(std::vector<Item>& to, std::vector<Item> from) const {
  const std::size_t before = to.size();
  for (Item& item : below(ceilings_, base_, from)) {
    const auto known =
        std::ranges::find_if(to, [&](const Item& other) { return other.kind == item.kind && other.what == item.what; });
    if (known == to.end()) {
      to.push_back(std::move(item));
    } else if (known->direct != item.direct) {
      known->direct = known->what;
    }
  }
  return to.size() - before;
}

// Nothing that is given already, and nothing that does not help.
std::string LearnSession::hint_for(const Outcome& outcome) const {
  std::string out = "a policy is learnt from a run that succeeds; ";
  if (const std::string_view flag = limit_flag(outcome.kind); !flag.empty())
    return fmt::format("{}{} gives it more", out, flag);
  if (outcome.kind == OutcomeKind::kExited && !options_.any_exit) out += "--any-exit takes this one, ";
  if (outcome.kind != OutcomeKind::kExited && options_.any_exit)
    out += "--any-exit takes only one that ends by itself, ";
  // With a socket of the host no file of it can be granted.
  const bool bare = !with_way_out(base_).sockets.empty();
  out += bare ? "--allow-net and --socket give it more" : "--read, --workspace, --allow-net and --socket give it more";
  return out + withheld_text(withheld(env_, base_.env));
}

Error LearnSession::failure_of(const LearnTry& tried) const {
  const Outcome& outcome = tried.report.outcome;
  if (never_began(tried.report)) {
    return {outcome.kind == OutcomeKind::kFailed ? ErrorCode::kSystem : ErrorCode::kRefused, outcome.step, 0,
            outcome.message, outcome.hint};
  }
  return {ErrorCode::kInvalidInput, kStep, 0, "the command failed: " + how_it_ended(outcome), hint_for(outcome)};
}

}  // namespace cloche::cli
