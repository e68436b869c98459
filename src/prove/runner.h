// Runner: tries attacks, several at once, and says what each came to.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "prove/column.h"
#include "prove/proof.h"
#include "prove/stage.h"

namespace cloche::prove {

struct Job {
  std::size_t row = 0;
  std::size_t column = 0;
};

struct Plan {
  std::string cloche;  // this very program
  std::vector<Column> columns;
  Caller caller;
  Words against;    // the command in front of the program
  Words policy;     // options that choose the user's own policy
  Granted granted;  // by that policy
  Words limits;     // options where this host cannot enforce limits
  std::size_t jobs = 1;
  Environment env;                                           // ours
  std::function<void(const Row&, std::size_t column)> tell;  // one more is known
  std::function<bool()> go_on;                               // false: stop now
};

// The command of one attack, from `cloche` or the other command on. Pure.
Words command_of(const Plan& plan, const Stage& stage, const std::string& bait_directory, const Attack& attack,
                 Kind kind, const Words& args);

// nullopt as an error code kRefused with ECANCELED: somebody stopped it. Rows are in the order of the attacks.
Result<std::vector<Row>> try_all(const Plan& plan, const Stage& stage, const std::vector<Attack>& attacks);

}  // namespace cloche::prove
