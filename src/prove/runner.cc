#include "prove/runner.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <optional>

#include "base/units.h"
#include "prove/canaries.h"
#include "prove/child.h"
#include "sys/file.h"

namespace cloche::prove {
namespace {

constexpr auto kLongest = std::chrono::seconds(40);  // the bait has an alarm of its own
constexpr auto kForAnother = std::chrono::seconds(10);
constexpr auto kPatience = std::chrono::seconds(5);

std::string replaced(std::string text, const Stage& stage, const std::string& directory, const std::string& token) {
  const std::pair<std::string, std::string> names[] = {{"@READ@", directory + "/read"},
                                                       {"@WRITE@", directory + "/write"},
                                                       {"@DIR@", directory},
                                                       {"@PROGRAMS@", stage.programs()},
                                                       {"@TOKEN@", token}};
  for (const auto& [from, to] : names) {
    // On behind what was put in, which may look like a name itself.
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  }
  return text;
}

bool has_option(const Words& options, std::string_view name) {
  return std::ranges::find(options, name) != options.end();
}

// Whether what was planted in "write" may change: it is granted for writing there.
bool may_write(const Attack& attack, Kind kind) {
  return kind != Kind::kAgainst && has_option(attack.options, "--write");
}

// Nobody can have its answer ready.
std::string new_word() {
  std::uint64_t number = 0;
  while (::getrandom(&number, sizeof number, 0) != sizeof number) continue;
  return fmt::format("{:016x}", number);
}

// A place for one attack at a time: the bait's directory and that of a second cell.
class Slot {
 public:
  Slot(const Stage& stage, std::size_t number)
      : stage_(stage),
        directory_(stage.place(fmt::format("b{}", number))),
        beside_(stage.place(fmt::format("c{}", number))) {}

  const std::string& directory() const { return directory_; }
  const std::string& beside() const { return beside_; }
  std::string token() const {
    return fmt::format("prove{}{}", ::getpid(), directory_.substr(directory_.rfind('/') + 1));
  }

  Status plant(const Environment& env) {
    for (const std::string& one : {directory_, beside_}) {
      CLOCHE_TRY(stage_.renew(one));
      CLOCHE_TRY_ASSIGN(Child bait, Child::start({stage_.in("bait"), "--dir", one, "--plant"}, env, one));
      while (!bait.is_over()) bait.read_some();
      if (bait.reap() != 0) return fail(ErrorCode::kSystem, "bait", shown_text(bait.output()));
    }
    home_ = look_at(directory_ + "/home");
    write_ = look_at(directory_ + "/write");
    return {};
  }

  std::string change(const Attack& attack, Kind kind) const {
    std::string out = difference(home_, look_at(directory_ + "/home"));
    if (!out.empty()) return "home/" + out;
    if (may_write(attack, kind)) return {};
    // The bait itself gives "write" to everybody.
    Canaries now = look_at(directory_ + "/write");
    now[""] = write_.at("");
    out = difference(write_, now);
    return out.empty() ? out : "write/" + out;
  }

 private:
  const Stage& stage_;
  std::string directory_;
  std::string beside_;
  Canaries home_;
  Canaries write_;
};

// One attack under way.
struct Attempt {
  Job job;
  std::string word;  // that the program answers
  Clock::time_point began;
  std::optional<Child> other;  // the second cell
  std::optional<Child> main;
  enum class Stop : std::uint8_t { kNo, kAsked, kForced } stop = Stop::kNo;
};

class Runner {
 public:
  Runner(const Plan& plan, const Stage& stage, const std::vector<Attack>& attacks) : plan_(plan), stage_(stage) {
    for (const Attack& attack : attacks) {
      rows_.push_back({attack, std::vector<Outcome>(plan.columns.size())});
      if (!plan.against.empty()) rows_.back().attack.tries = tries_on(attack, Kind::kAgainst);
    }
  }

  Result<std::vector<Row>> run() {
    CLOCHE_TRY(try_those(Company::kAny, plan_.jobs));
    CLOCHE_TRY(try_those(Company::kAlone, 1));
    return std::move(rows_);
  }

 private:
  Status try_those(Company company, std::size_t at_once) {
    for (std::size_t column = 0; column < plan_.columns.size(); ++column) {
      for (std::size_t row = 0; row < rows_.size(); ++row) {
        if (rows_[row].attack.company == company && !is_settled({row, column})) queue_.push_back({row, column});
      }
    }
    while (slots_.size() < at_once) {
      slots_.emplace_back(stage_, slots_.size());
      attempts_.emplace_back();
      CLOCHE_TRY(slots_.back().plant(base_environment()));
    }
    while (true) {
      bool busy = false;
      for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (!attempts_[i] && i < at_once && !queue_.empty()) CLOCHE_TRY(begin(i));
        busy = busy || attempts_[i].has_value();
      }
      if (!busy) return {};
      CLOCHE_TRY(wait_a_while());
    }
  }

  // What needs no trying.
  bool is_settled(const Job& job) {
    const Attack& attack = rows_[job.row].attack;
    const Kind kind = plan_.columns[job.column].kind;
    Outcome outcome;
    if (std::string why = not_promised(attack, kind, plan_.granted, plan_.caller); !why.empty()) {
      outcome = {.verdict = Verdict::kNotPromised, .text = std::move(why)};
    } else if (why = left_out(attack, kind, plan_.granted); !why.empty()) {
      outcome = {.verdict = Verdict::kLeftOut, .text = std::move(why)};
    } else if (!stage_.has(attack.victim)) {
      outcome.text = fmt::format("the program {} is missing; install cloche with all of its files", attack.victim);
    } else {
      return false;
    }
    settle(job, std::move(outcome));
    return true;
  }

  void settle(const Job& job, Outcome outcome) {
    rows_[job.row].outcomes[job.column] = std::move(outcome);
    if (plan_.tell) plan_.tell(rows_[job.row], job.column);
  }

  Environment base_environment() const {
    Environment env = plan_.env;
    env["CLOCHE_STATE_DIR"] = stage_.in("state");
    return env;
  }

  Result<Child> start(const Attempt& attempt, const Slot& slot, const std::string& directory, const Words& args) const {
    const Attack& attack = rows_[attempt.job.row].attack;
    const Kind kind = plan_.columns[attempt.job.column].kind;
    Environment env = base_environment();
    env["DECOY_TOKEN"] = "/decoy";  // also in what /proc shows of the bait
    if (kind == Kind::kAgainst) env["BAIT_LIMITS"] = "none";
    env["BAIT_ENGINE"] = plan_.cloche;
    env["BAIT_INIT"] = stage_.in("cloche-init");
    env["BAIT_SETUID_HELPER"] = stage_.victim("23_setuid_helper");
    Words words{stage_.in("bait"), "--dir", directory, "--tell"};
    words.insert(words.end(), attack.bait.begin(), attack.bait.end());
    words.emplace_back("--");
    for (const std::string& word : command_of(plan_, stage_, directory, attack, kind, args)) {
      words.push_back(replaced(word, stage_, directory, slot.token()));
    }
    words.push_back("--word=" + attempt.word);
    return Child::start(words, env, directory + "/here");
  }

  Status begin(std::size_t i) {
    const Job job = queue_.front();
    queue_.pop_front();
    Attempt& attempt =
        attempts_[i].emplace(Attempt{.job = job, .word = new_word(), .began = Clock::now(), .other = {}, .main = {}});
    const Attack& attack = rows_[job.row].attack;
    if (attack.beside) {
      CLOCHE_TRY_ASSIGN(attempt.other, start(attempt, slots_[i], slots_[i].beside(), *attack.beside));
      return {};
    }
    return begin_main(i);
  }

  Status begin_main(std::size_t i) {
    Attempt& attempt = *attempts_[i];
    const Words args = args_on(rows_[attempt.job.row].attack, plan_.columns[attempt.job.column].kind, plan_.granted);
    CLOCHE_TRY_ASSIGN(attempt.main, start(attempt, slots_[i], slots_[i].directory(), args));
    return {};
  }

  Status wait_a_while() {
    if (plan_.go_on && !plan_.go_on()) return stop_all();
    std::vector<pollfd> ready;
    std::vector<Child*> whose;
    for (auto& attempt : attempts_) {
      if (!attempt) continue;
      for (auto* child : {&attempt->other, &attempt->main}) {
        if (!*child || (*child)->is_over()) continue;
        ready.push_back({(*child)->descriptor(), POLLIN, 0});
        whose.push_back(&**child);
      }
    }
    ::poll(ready.data(), ready.size(), 100);
    for (std::size_t i = 0; i < ready.size(); ++i) {
      if (ready[i].revents != 0) whose[i]->read_some();
    }
    for (std::size_t i = 0; i < attempts_.size(); ++i) {
      if (attempts_[i]) CLOCHE_TRY(go_on_with(i));
    }
    return {};
  }

  Status go_on_with(std::size_t i) {
    Attempt& attempt = *attempts_[i];
    const auto age = Clock::now() - attempt.began;
    if (!attempt.main) {
      if (attempt.other->has_said("READY")) return begin_main(i);
      if (attempt.other->is_over() || age > kForAnother) return finish_without(i);
      return {};
    }
    if (attempt.main->is_over()) return finish(i);
    if (age > kLongest + kPatience && attempt.stop != Attempt::Stop::kForced) {
      attempt.stop = Attempt::Stop::kForced;
      attempt.main->signal(SIGKILL);
    } else if (age > kLongest && attempt.stop == Attempt::Stop::kNo) {
      attempt.stop = Attempt::Stop::kAsked;
      attempt.main->signal(SIGTERM);
    }
    return {};
  }

  // What the kernel keeps when all processes are gone, in a sandbox that shares it with the host.
  Status sweep_up(std::size_t i) {
    attempts_[i]->other.reset();
    const Attack& attack = rows_[attempts_[i]->job.row].attack;
    if (!attack.after) return {};
    Words words{stage_.victim(attack.victim)};
    for (const std::string& word : *attack.after) {
      words.push_back(replaced(word, stage_, slots_[i].directory(), slots_[i].token()));
    }
    CLOCHE_TRY_ASSIGN(Child sweeper, Child::start(words, base_environment(), slots_[i].directory()));
    while (!sweeper.is_over()) sweeper.read_some();
    (void)sweeper.reap();
    return {};
  }

  Status stop_all() {
    for (std::size_t i = 0; i < attempts_.size(); ++i) {
      if (!attempts_[i]) continue;
      attempts_[i]->main.reset();
      CLOCHE_TRY(sweep_up(i));
    }
    return std::unexpected(Error{ErrorCode::kRefused, "prove", ECANCELED, "it was stopped", {}});
  }

  Status finish_without(std::size_t i) {
    Attempt& attempt = *attempts_[i];
    Ended ended;
    ended.output = attempt.other->output();
    ended.program = stage_.victim(rows_[attempt.job.row].attack.victim);
    if (attempt.other->is_over()) ended.code = attempt.other->reap();
    const bool another = plan_.columns[attempt.job.column].kind == Kind::kAgainst;
    settle(attempt.job,
           {.verdict = Verdict::kNotTried,
            .text = "a second cell did not come up: " + (another ? why_not_started(ended) : ended.output)});
    CLOCHE_TRY(sweep_up(i));
    attempts_[i].reset();
    return {};
  }

  Status finish(std::size_t i) {
    Attempt& attempt = *attempts_[i];
    const Attack& attack = rows_[attempt.job.row].attack;
    const Kind kind = plan_.columns[attempt.job.column].kind;
    Ended ended;
    ended.code = attempt.main->reap();
    CLOCHE_TRY(sweep_up(i));
    ended.output = attempt.main->output();
    ended.answer = answer_to(attempt.word);
    if (attempt.stop != Attempt::Stop::kNo) ended.time = Ended::Time::kOver;
    ended.canary_change = slots_[i].change(attack, kind);
    ended.program = stage_.victim(attack.victim);
    Outcome outcome = judge(attack, walls_of(kind, plan_.granted), ended);
    outcome.took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - attempt.began);
    const bool spoilt = !ended.canary_change.empty() || may_write(attack, kind) || kind == Kind::kAgainst;
    settle(attempt.job, std::move(outcome));
    attempts_[i].reset();
    return spoilt ? slots_[i].plant(base_environment()) : Status{};
  }

  const Plan& plan_;
  const Stage& stage_;
  std::vector<Row> rows_;
  std::deque<Job> queue_;
  std::deque<Slot> slots_;
  std::deque<std::optional<Attempt>> attempts_;
};

}  // namespace

Words command_of(const Plan& plan, const Stage& stage, const std::string& bait_directory, const Attack& attack,
                 Kind kind, const Words& args) {
  Words out;
  if (kind == Kind::kAgainst) {
    out = plan.against;
  } else {
    out = {plan.cloche, "run", "--quiet", "--exec", stage.programs()};
    if (kind == Kind::kPolicy) {
      out.insert(out.end(), plan.policy.begin(), plan.policy.end());
    } else {
      out.insert(out.end(), {"--policy", stage.in(kind == Kind::kProcess ? "policy-process.toml" : "policy.toml"),
                             "--backend", kind == Kind::kBwrap ? "bwrap" : "native"});
      if (!has_option(attack.options, "--wall")) out.insert(out.end(), {"--wall", "20s"});
      out.insert(out.end(), plan.limits.begin(), plan.limits.end());
    }
    for (const std::string& word : attack.options) out.push_back(replaced(word, stage, bait_directory, {}));
    out.emplace_back("--");
  }
  out.push_back(stage.victim(attack.victim));
  out.insert(out.end(), args.begin(), args.end());
  return out;
}

Result<std::vector<Row>> try_all(const Plan& plan, const Stage& stage, const std::vector<Attack>& attacks) {
  return Runner(plan, stage, attacks).run();
}

}  // namespace cloche::prove
