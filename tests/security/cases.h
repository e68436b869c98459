// The table of victims: for each property of docs/containment.md the program that attacks it, how its cell is started,
// what the run must end with, and which steps of the plan have to go before the attack gets through.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace cloche::security {

enum class Lane : unsigned char { kRoot, kUser };
enum class Cellar : unsigned char { kNative, kBwrap };  // the backend that makes the cell

std::string to_string(Lane lane);
std::string to_string(Cellar cellar);

// All of the named removals together must let the attack through. "direct": no step of the plan gives the property (the
// launcher always does it), so the victim is run among the bait without Cloche.
using Removal = std::vector<std::string>;

struct Case {
  int number = 0;
  std::string variant{};  // distinguishes two cases of one number
  std::string victim{};
  std::vector<std::string> args{};     // of the victim
  std::vector<std::string> options{};  // of `cloche run`; @READ@, @WRITE@ and @DIR@ are the bait's directories
  std::vector<std::string> bait{};     // of the bait program
  std::vector<int> expected = {0};     // exit codes that mean "held"
  bool root_only = false;
  bool user_only = false;
  std::string no_bwrap{};           // why this backend does not give the property; empty: it does
  std::vector<Removal> removals{};  // each one alone must make it fail
};

std::span<const Case> cases();

// "C01_root_native", "C03_own_pty_user_bwrap"
std::string test_name(const Case& c, Lane lane, Cellar cellar);

}  // namespace cloche::security
