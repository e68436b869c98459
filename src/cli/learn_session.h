// From a command to a policy for it: an observed run, then runs that check what was seen and leave out what can be.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/learn_run.h"
#include "cli/run_options.h"
#include "learn/collect.h"
#include "learn/effects.h"
#include "learn/item.h"
#include "learn/print.h"
#include "policy/ceiling.h"

namespace cloche::cli {

struct LearnOptions {
  std::size_t tries = 60;
  Millis time{600'000};  // for leaving things out
  bool any_exit = false;
  bool widens = false;  // --merge: limits only grow
  learn::Changes changes = learn::Changes::kProposed;
  std::string policy_file;  // --policy or --merge; empty: a preset
  std::string preset = "untrusted";
  bool quiet = false;
};

// What became of it. `exit_code` 0: `learnt` is there.
struct LearnEnd {
  int exit_code = 0;
  std::optional<Error> error;
  learn::Learnt learnt;
  std::size_t runs = 0;
  learn::Used used;
  bool writes_tried = true;  // false: of files.write private copies were, because the rest writes to the host
};

class LearnSession {
 public:
  LearnSession(const RunArgs& args, LearnOptions options, const Environment& env, Fd cancel)
      : args_(args), options_(std::move(options)), env_(env), runs_(args, env, std::move(cancel)) {}

  LearnEnd learn();

 private:
  Status prepare();
  Status observe();
  void take_for_model(LearnTry tried, learn::Collected found, std::vector<learn::Item> always);
  std::vector<learn::Item> program_out_of_view(const Policy& of_run);
  Status check_and_widen();
  void tighten();
  void narrow();
  bool does_with(const std::vector<learn::Item>& items);
  bool may_try() const;
  void raise_to_what_was_said(Limits& limits) const;
  Status settle_limits();
  std::vector<std::string> too_small(const LearnTry& tried) const;
  Status take_back(const std::vector<std::string>& keys, const Limits& before);
  void list_hosts(const Policy& of_run);
  bool shows_in_nothing(const learn::Item& item) const;
  bool was_read(const learn::Item& item) const;
  bool differs_unseen() const;
  void note_gained(const LearnTry& tried);
  void tell_of_lost_changes();
  void tell_of_not_compared();
  void tell_of_uncovered(const Policy& learnt);
  void tell_of_repository(const LearnTry& failed);
  bool adds_loopback(std::vector<learn::Item>& always);
  void tell_of_secrets() const;
  bool wants_unix_sockets() const;
  std::vector<learn::Item> files_among_words() const;
  bool tell_of_sockets(std::vector<learn::Item> missed);
  void drop_name_service();
  void drop_what_is_there(const Policy& learnt);

  Policy widened(const std::vector<learn::Item>& items) const;
  Policy with_way_out(Policy policy) const;
  void add_rules(Policy& policy) const;
  void settle(Policy& policy) const;
  std::vector<learn::Item> starting_place() const;
  bool is_reached_already(const learn::Item& item) const;
  bool shows(const Policy& policy, const std::string& path) const;
  learn::Setting setting(const Policy& of_run, learn::Hidden hidden) const;
  learn::Collected seen_in(const LearnTry& tried, learn::Hidden hidden) const;
  std::vector<learn::Item> listed_in_part(std::vector<learn::Item> items, const Policy& of_run) const;
  std::vector<learn::Item> not_given(std::vector<learn::Item> items, const Policy& policy) const;
  std::size_t add_new(std::vector<learn::Item>& to, std::vector<learn::Item> from) const;
  bool says_the_same(const LearnTry& tried) const;
  bool ends_alike(const LearnTry& tried) const;
  bool takes_other_words(const LearnTry& tried);
  bool takes_other_contents(const LearnTry& tried);
  void settle_for(const learn::Changed& changed);
  Error does_not_suffice(const LearnTry& tried) const;
  bool succeeded(const LearnTry& tried) const;
  bool differs_by_itself(const LearnTry& tried, const Policy& sufficient);
  bool is_settled(const learn::Item& item) const;
  bool leaves_out_settled(const std::vector<learn::Item>& items) const;
  std::vector<learn::Item> lost_changes(const LearnTry& tried) const;
  bool allowed(const Policy& policy) const;
  void want(const std::vector<learn::Wanted>& more);
  void say(const std::string& line) const;
  std::string hint_for(const Outcome& outcome) const;
  Error failure_of(const LearnTry& tried) const;
  std::string home() const;

  const RunArgs& args_;
  LearnOptions options_;
  const Environment& env_;
  LearnRuns runs_;
  std::vector<Ceiling> ceilings_;
  Secrets secrets_;
  Policy parent_;
  Policy base_;                       // parent and flags
  Limits wide_;                       // of runs that are not about limits
  std::optional<Plan> plan_;          // of the base
  std::optional<LearnTry> model_;     // the observed run that succeeded
  learn::MustChange must_;            // what each run has to change, as the observed one did
  learn::Effects effects_;            // of the observed run, which nothing that is compared shows
  std::vector<learn::Item> seen_;     // what it was seen to use
  std::vector<std::string> gained_;   // places that the checked run changed, and the observed one could not
  std::vector<std::string> remarks_;  // on what was learnt, for the policy
  bool other_words_ = false;          // it writes other numbers under its policy, as of directories of the cell
  bool steady_ = true;                // two runs of the same say the same
  std::size_t doubts_ = 0;            // how often something that was compared turned out to differ by itself
  std::vector<learn::Item> items_;    // what is known to suffice, once it was checked
  std::vector<learn::Item> looks_;
  std::vector<learn::Item> untried_;
  std::vector<learn::Wanted> wanted_;
  learn::Used used_;
  Limits limits_;
  std::size_t tries_ = 0;      // to leave something out
  Clock::time_point until_{};  // for them
  bool asked_network_ = false;
  int command_code_ = 0;  // 1: the command failed
};

}  // namespace cloche::cli
