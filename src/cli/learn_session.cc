#include "cli/learn_session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "cli/console.h"
#include "cli/learn_view.h"
#include "learn/fold.h"
#include "learn/minimise.h"

namespace cloche::cli {
namespace {

using learn::Collected;
using learn::Hidden;
using learn::Item;
using learn::Kind;

constexpr int kMostRounds = 8;
constexpr const char* kStep = "learn";
// Names no host: with it there is a gateway, which hears what a command asks for.
constexpr const char* kNobody = "nobody.invalid:1";

bool never_began(const Report& report) {
  return report.outcome.kind == OutcomeKind::kRefused || report.outcome.kind == OutcomeKind::kFailed;
}

bool is_about_inet(const learn::Wanted& one) {
  return one.what.starts_with("socket AF_INET") || one.what.starts_with("socket \"AF_INET");
}

// As a shell would take it; whoever prints it makes it harmless.
std::string joined(const std::vector<std::string>& words) {
  constexpr std::size_t kMost = 400;
  std::string out;
  for (const std::string& word : words) {
    const bool plain = !word.empty() && word.find_first_of(" \t\n'\"\\$`;&|<>()*?#~") == std::string::npos;
    out += out.empty() ? "" : " ";
    if (plain) {
      out += word;
      continue;
    }
    out += '\'';
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += '\'';
  }
  return out.size() > kMost ? out.substr(0, kMost) + " ..." : out;
}

}  // namespace

// A server that talks to itself needs no host. With a loopback it is seen whom else it wants.
bool LearnSession::adds_loopback(std::vector<Item>& always) {
  const bool asked = std::ranges::any_of(wanted_, is_about_inet);
  if (!asked || asked_network_ || base_.loopback || with_way_out(base_).needs_gateway()) return false;
  asked_network_ = true;
  return add_new(always, {{Kind::kLoopback, "true"}}) != 0;
}

// Nobody sees a guest that never began ask for its program. A name without a path is searched for as any run does.
std::vector<Item> LearnSession::program_out_of_view(const Policy& of_run) {
  if (!args_.parsed.dashes || !args_.parsed.operands.front().contains('/')) return {};
  observe::Sighting asked;
  asked.use = filter::Use::kExecute;
  asked.what = observe::absolute(current_directory(), args_.parsed.operands.front());
  asked.presence = observe::Presence::kMissing;
  Collected found = learn::collect({asked}, setting(of_run, Hidden::kGrant), learn_host());
  want(found.wanted);
  return not_given(std::move(found.items), of_run);
}

Status LearnSession::observe() {
  std::vector<Item> given = below(ceilings_, base_, wide_view(current_directory(), secrets_));
  tell_of_secrets();
  // Where a piece of the host's files is granted, a guest has no unix sockets.
  bool bare = !with_way_out(base_).sockets.empty();
  if (bare) {
    say("with a socket of the host it runs without the view of your files");
    given.clear();
  }
  std::optional<LearnTry> viewed;  // the last one before it ran without
  const bool has_place = base_.cwd != "/work" || !base_.workspace.path.empty();
  std::vector<Item> always;
  if (args_.pass.empty()) add_new(always, passable(env_));
  // Where it starts; it has to be there.
  if (!has_place && shows(widened(given), current_directory())) {
    add_new(always, {{Kind::kCwd, current_directory()}});
  } else if (!has_place) {
    say("the current directory is not in view: it starts in /work, and what it makes there ends with the run");
  }
  add_new(always, {{Kind::kExecWritable, "all"}});
  if (with_way_out(base_).needs_gateway()) {
    say("each run reaches the hosts and sockets that it may reach: what it does there, it does many times");
  }
  std::vector<Item> more;
  const char* why = "";
  for (int round = 0;; ++round) {
    std::vector<Item> all = given;
    all.insert(all.end(), always.begin(), always.end());
    all.insert(all.end(), more.begin(), more.end());
    add_new(all, learn::in_the_way(base_, all, home()));
    say(round == 0 ? "running the command under observation, on private copies" : why);
    why = "it failed; again with what it wanted";
    LearnTry tried = runs_.run(with_way_out(widened(all)), Observe::kAll);
    if (runs_.cancelled()) return std::unexpected(failure_of(tried));
    const std::vector<Item> program =
        never_began(tried.report) ? program_out_of_view(tried.policy) : std::vector<Item>();
    if (!bare && add_new(more, program) != 0) continue;
    if (never_began(tried.report) && !given.empty()) {
      say("it could not start with all of that in view (" + tried.report.outcome.message + "); with less");
      given.clear();
      std::erase_if(always, [](const Item& item) { return item.kind == Kind::kCwd; });
      continue;
    }
    const bool done = tried.report.outcome.kind == OutcomeKind::kExited && tried.report.outcome.code == 0;
    Collected found = seen_in(tried, done ? Hidden::kLeave : Hidden::kGrant);
    if (done && !bare && round < kMostRounds && add_new(more, listed_in_part(found.items, tried.policy)) != 0) {
      why = "it listed a directory of which not all is in view; again with all of it";
      continue;
    }
    if (done) wanted_.clear();  // what it missed before it has by now, or does without
    want(found.wanted);
    if (!done && !never_began(tried.report) && adds_loopback(always)) {
      std::erase_if(wanted_, is_about_inet);
      say("it asked for the network; again with a loopback of its own, on which nobody else is");
      continue;
    }
    // With one file of the host in view there would be no unix sockets again.
    const bool grew =
        !done && !bare && round < kMostRounds && !never_began(tried.report) &&
        add_new(more, not_given(found.items, tried.policy)) + add_new(more, not_given(found.looks, tried.policy)) != 0;
    if (grew) continue;
    if (!done && !bare && wants_unix_sockets()) {
      say("it asked for unix sockets, which there are only where nothing of the host is in view; with less");
      bare = true;
      given.clear();
      more.clear();
      viewed = std::move(tried);
      continue;
    }
    if (!done && bare) {
      std::vector<Item> missed = not_given(found.items, tried.policy);
      missed.insert(missed.end(), program.begin(), program.end());
      // Without its files it came less far, unless what it wanted was a socket.
      if (!tell_of_sockets(missed) && viewed) tried = std::move(*viewed);
    }
    if (!done && (!options_.any_exit || tried.report.outcome.kind != OutcomeKind::kExited)) {
      if (!never_began(tried.report)) {
        command_code_ = 1;
        put(STDERR_FILENO, tried.report.err.tail);
        tell_of_repository(tried);
        list_hosts(tried.policy);
      }
      return std::unexpected(failure_of(tried));
    }
    if (!done) found = seen_in(tried, Hidden::kLeave);
    take_for_model(std::move(tried), std::move(found), std::move(always));
    return {};
  }
}

void LearnSession::take_for_model(LearnTry tried, Collected found, std::vector<Item> always) {
  add_new(items_, std::move(found.items));
  add_new(looks_, std::move(found.looks));
  std::erase_if(always, [](const Item& item) { return item.kind == Kind::kExecWritable; });
  add_new(items_, std::move(always));
  used_ = tried.used;
  model_ = std::move(tried);
  items_ = learn::fold(std::move(items_), learn_host().entries, secrets_);
  must_ = learn::MustChange(model_->changed, items_);
  seen_ = items_;
  effects_ = learn::effects_of(model_->seen, model_->changed, setting(model_->policy, Hidden::kLeave), learn_host());
}

bool LearnSession::ends_alike(const LearnTry& tried) const {
  const Outcome& outcome = tried.report.outcome;
  return outcome.kind == OutcomeKind::kExited && outcome.code == model_->report.outcome.code;
}

bool LearnSession::says_the_same(const LearnTry& tried) const {
  if (!ends_alike(tried)) return false;
  return !steady_ || tried.out == model_->out;
}

bool LearnSession::succeeded(const LearnTry& tried) const {
  return says_the_same(tried) && must_.met_by(tried.changed);
}

// Words that were the same twice may have been so by chance, as the time of day is within a second, and so may names
// and contents: git calls a commit by what is in it, the time among it. So where a run differs in nothing else, what is
// known to suffice runs once more.
bool LearnSession::differs_by_itself(const LearnTry& tried, const Policy& sufficient) {
  const auto makes_other_names = [this](const LearnTry& run) {
    return must_.nearly_met_by(run.changed) && !must_.names_met_by(run.changed);
  };
  if (succeeded(tried) || !ends_alike(tried)) return false;
  if (!must_.names_met_by(tried.changed) && !makes_other_names(tried)) return false;
  const LearnTry again = runs_.run(sufficient, Observe::kOff);
  if (runs_.cancelled() || !ends_alike(again)) return false;
  const bool says_others = !says_the_same(again);
  const bool makes_others = makes_other_names(again);
  const std::vector<std::string> contents =
      must_.nearly_met_by(again.changed) ? must_.written_otherwise(again.changed) : std::vector<std::string>();
  if (says_others) {
    steady_ = false;
    say("it does not write the same twice: only its exit code is compared");
  }
  if (makes_others) {
    say("it does not call its files the same twice: where it makes them is compared, and names that stay");
  }
  if (!contents.empty()) say("it does not write the same twice to " + learn::listed(contents));
  if (makes_others || !contents.empty()) must_.agree_with(again.changed);
  if (!says_others && !makes_others && contents.empty()) return false;
  ++doubts_;
  return true;
}

// Left out, these would show in nothing but what is changed in the end.
bool LearnSession::is_settled(const Item& item) const {
  if (shows_in_nothing(item)) return true;
  const bool about_changes = item.kind == Kind::kChange || item.kind == Kind::kCwd;
  if (!about_changes || must_.known()) {
    // A trial has workspaces, where a command starts by itself; it does not start in what files.write names. And the
    // time of a file, which no proposal has, may be what is written.
    const bool own = item.kind == Kind::kChange && learn::is_cells_own(item.what);
    return options_.changes == learn::Changes::kDirect && (own || (item.kind == Kind::kCwd && !must_.nothing()));
  }
  return item.kind == Kind::kCwd || learn::is_cells_own(item.what);
}

// Something that is settled may have been tried before it was.
bool LearnSession::leaves_out_settled(const std::vector<Item>& items) const {
  return std::ranges::any_of(
      items_, [&](const Item& item) { return std::ranges::find(items, item) == items.end() && is_settled(item); });
}

// For changes that nobody saw being made.
std::vector<Item> LearnSession::lost_changes(const LearnTry& tried) const {
  std::vector<Item> out;
  for (std::string place : must_.missing(tried.changed)) {
    while (place != "/" && !is_directory(place)) place = learn::folder_of(place);
    Item item{Kind::kChange, place, {}, place, true};
    const bool fits = learn::ungrantable(item).empty() && !is_secret_place(place, secrets_) &&
                      secrets_below(place, secrets_) == Below::kNothing;
    if (fits) out.push_back(std::move(item));
  }
  return out;
}

Status LearnSession::check_and_widen() {
  bool looked = false;
  for (int round = 0; round < kMostRounds; ++round) {
    add_new(items_, learn::in_the_way(base_, items_, home()));
    say(fmt::format("checking the {} grants that it seems to need", items_.size()));
    const LearnTry tried = runs_.run(widened(items_), Observe::kAll);
    if (runs_.cancelled()) return std::unexpected(failure_of(tried));
    if (succeeded(tried)) {
      used_ = learn::most(used_, tried.used);
      note_gained(tried);
      return {};
    }
    if (differs_by_itself(tried, model_->policy)) continue;
    std::size_t added = 0;
    if (!looked) {
      looked = true;
      added = add_new(items_, learn::fold_looks(looks_, learn_host().entries, secrets_, current_directory()));
    }
    Collected found = seen_in(tried, Hidden::kGrant);
    added += add_new(items_, std::move(found.items));
    if (must_.known()) added += add_new(items_, lost_changes(tried));
    if (added == 0) added = add_new(items_, std::move(found.looks));
    if (added == 0) added = add_new(items_, starting_place());
    if (added != 0) continue;
    if (takes_other_words(tried) || takes_other_contents(tried)) {
      used_ = learn::most(used_, tried.used);
      note_gained(tried);
      return {};
    }
    return std::unexpected(never_began(tried.report) ? failure_of(tried) : does_not_suffice(tried));
  }
  return fail(ErrorCode::kSystem, kStep, "each run of the command wants something else",
              "name with --read, --exec or --workspace what it needs");
}

bool LearnSession::does_with(const std::vector<Item>& items) {
  if (leaves_out_settled(items)) return false;
  const std::size_t before = runs_.count();
  const LearnTry tried = runs_.run(widened(items), Observe::kOff);
  bool ok = !runs_.cancelled() && succeeded(tried);
  // What is not compared from now on may be what was left out, and nothing would show that.
  if (!ok && may_try() && differs_by_itself(tried, widened(items_)))
    ok = succeeded(tried) && !leaves_out_settled(items);
  tries_ += runs_.count() - before;
  say(fmt::format("try {} of at most {}: with {} grants it {}", tries_, options_.tries, items.size(),
                  ok ? "succeeds" : "fails"));
  if (ok) items_ = items;
  return ok;
}

bool LearnSession::may_try() const { return tries_ < options_.tries && Clock::now() < until_ && !runs_.cancelled(); }

void LearnSession::tighten() {
  std::size_t doubts = doubts_;
  do {
    doubts = doubts_;
    const std::vector<Item> all = items_;
    const learn::Trials trials{[this](const std::vector<Item>& items) { return does_with(items); },
                               [this] { return may_try(); }};
    untried_ = learn::minimise(all, [this](const Item& item) { return is_settled(item); }, trials).untried;
    narrow();
    // What was kept for the sake of words or names that nobody can rely on is tried again.
  } while (doubts != doubts_ && may_try());
  if (!untried_.empty()) {
    say(fmt::format("stopped after {} tries: {} grants may not be needed; --tries and --time give more", tries_,
                    untried_.size()));
  }
}

// Whoever names a limit knows of a run that takes that much.
void LearnSession::raise_to_what_was_said(Limits& limits) const {
  const auto raise = [&](std::string_view flag, auto member) {
    const bool said = args_.parsed.has(flag) || base_.limits.*member != parent_.limits.*member;
    if (said) limits.*member = std::max(limits.*member, base_.limits.*member);
  };
  raise("--wall", &Limits::wall);
  raise("--cpu-time", &Limits::cpu_time);
  raise("--memory", &Limits::memory);
  raise("--pids", &Limits::pids);
  raise("--disk", &Limits::disk);
  raise("--inodes", &Limits::inodes);
  raise({}, &Limits::output);
  raise({}, &Limits::files);
}

// What a run that failed may have had too little of. Where nobody tells, as a process that may reserve no more memory
// does not, it is guessed.
std::vector<std::string> LearnSession::too_small(const LearnTry& tried) const {
  std::vector<std::string> out = learn::failed_limits(tried.report);
  if (!out.empty()) return out;
  const Limits raised = learn::raised_limits(used_, limits_);
  for (const std::string_view key : learn::learnt_limits()) {
    if (!learn::is_same_limit(raised, limits_, key)) out.emplace_back(key);
  }
  if (out.empty()) out = learn::unmeasured(used_);
  if (out.empty()) out.assign(learn::learnt_limits().begin(), learn::learnt_limits().end());
  return out;
}

// Those that were raised by guess, one after the other as they were.
Status LearnSession::take_back(const std::vector<std::string>& keys, const Limits& before) {
  for (const std::string& key : keys) {
    Policy policy = widened(items_);
    policy.limits = limits_;
    learn::copy_limit(policy.limits, before, key);
    if (keys.size() == 1 || policy.limits == limits_) continue;
    const LearnTry tried = runs_.run(policy, base_.observe);
    if (runs_.cancelled()) return std::unexpected(failure_of(tried));
    if (succeeded(tried)) limits_ = policy.limits;
  }
  return {};
}

Status LearnSession::settle_limits() {
  constexpr int kMostTries = 12;
  constexpr int kMostGuesses = 4;
  const Limits learnt = learn::limits_for(used_, base_.limits);
  // A policy that is widened keeps its limits, but for those under which the command fails.
  limits_ = options_.widens ? base_.limits : learnt;
  raise_to_what_was_said(limits_);
  const Limits begun = limits_;
  std::vector<std::string> guessed;
  int guesses = 0;
  for (int round = 0; round < kMostTries && guesses <= kMostGuesses; ++round) {
    Policy policy = widened(items_);
    policy.limits = limits_;
    if (!allowed(policy)) {
      // What the base asks for is allowed.
      for (const std::string_view key : learn::learnt_limits()) learn::take_smaller(limits_, base_.limits, key);
      policy.limits = limits_;
    }
    say("checking the whole policy, with its limits");
    const LearnTry tried = runs_.run(policy, base_.observe);
    if (runs_.cancelled()) return std::unexpected(failure_of(tried));
    if (succeeded(tried)) return take_back(guessed, begun);
    if (differs_by_itself(tried, widened(items_))) {
      tighten();
      continue;
    }
    used_ = learn::most(used_, tried.used);
    const bool told = !learn::failed_limits(tried.report).empty();
    for (const std::string& key : too_small(tried)) {
      if (!told && std::ranges::find(guessed, key) == guessed.end()) guessed.push_back(key);
      const Limits before = limits_;
      learn::take_larger(limits_, learnt, key);
      if (learn::is_same_limit(before, limits_, key)) learn::double_limit(limits_, key);
    }
    if (!told) ++guesses;
  }
  return fail(ErrorCode::kSystem, kStep, "the command does not succeed under the limits that it was seen to need",
              "give it more with --memory, --pids, --disk or --wall");
}

// Without a gateway a command that wants out is only seen to ask for a socket.
void LearnSession::list_hosts(const Policy& of_run) {
  const bool asked = asked_network_ || std::ranges::any_of(wanted_, is_about_inet);
  if (!asked || with_way_out(base_).needs_gateway()) return;
  Policy policy = of_run;
  policy.net_allow.push_back({kNobody, {}});
  // The cell has its own, which lead to who hears of the names. What the command missed were the host's.
  std::erase_if(policy.files.read, is_of_resolver);
  if (!allowed(policy)) return;
  say("it asked for the network; again, to hear for which hosts (none is reached)");
  const LearnTry tried = runs_.run(policy, Observe::kCalls);
  if (!tried.report.network) return;
  const Collected hosts = learn::collect_network(*tried.report.network);
  if (!hosts.wanted.empty()) {
    std::erase_if(wanted_, is_about_inet);
    drop_name_service();
  }
  want(hosts.wanted);
}

LearnEnd LearnSession::learn() {
  LearnEnd end;
  const auto ended = [&](const Status& status) {
    if (status && !runs_.cancelled()) return false;
    end.exit_code = runs_.cancelled() ? 130 : command_code_ != 0 ? command_code_ : exit_code_of(status.error());
    if (!status) end.error = status.error();
    end.runs = runs_.count();
    end.learnt.wanted = wanted_;
    return true;
  };
  if (ended(prepare()) || ended(observe())) return end;
  list_hosts(model_->policy);
  if (ended(check_and_widen())) return end;
  until_ = Clock::now() + options_.time;
  tighten();
  if (ended({}) || ended(settle_limits())) return end;
  learn::Learnt& learnt = end.learnt;
  learnt.command = joined(args_.parsed.operands);
  learnt.extends = options_.policy_file.empty() ? options_.preset : options_.policy_file;
  learnt.parent = parent_;
  learnt.policy = learn::compose(base_, items_, options_.changes);
  learnt.policy.limits = limits_;
  settle(learnt.policy);
  drop_what_is_there(learnt.policy);
  tell_of_uncovered(learnt.policy);
  learnt.items = items_;
  std::erase_if(learnt.items, [](const Item& item) { return item.kind == Kind::kUncover; });
  learnt.untried = untried_;
  std::erase_if(wanted_, &learn::Wanted::looked);
  tell_of_lost_changes();
  tell_of_not_compared();
  learnt.wanted = wanted_;
  // Trials write nothing to the host.
  end.writes_tried = learnt.policy.files.write.empty();
  const char* how =
      end.writes_tried ? "" : " with private copies of what files.write names, which itself was not tried";
  learnt.notes.push_back(fmt::format("Checked by running it again{}; {} runs in all. Exit code {}.", how, runs_.count(),
                                     model_->report.outcome.code));
  learnt.notes.insert(learnt.notes.end(), remarks_.begin(), remarks_.end());
  if (const auto unknown = learn::unmeasured(used_); !unknown.empty()) {
    const std::string note = fmt::format(
        "Not learnt, because it cannot be measured here (cloche doctor tells why): {}.", fmt::join(unknown, ", "));
    learnt.notes.push_back(note);
    say(note);
  }
  end.runs = runs_.count();
  end.used = used_;
  return end;
}

}  // namespace cloche::cli
