// The table of victims: for each property of docs/containment.md the program that attacks it, in which cells it runs,
// and which steps of the plan have to go before the attack gets through. How it is started and what its run must end
// with is told by the victim's own header (attacks/), as it is to `cloche prove`.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cloche::security {

enum class Lane : unsigned char { kRoot, kUser };
// What makes the cell. kProcess is tier 0; kOverlay and kCopy are native cells with a workspace, which is what is
// granted for writing elsewhere, and where the victim begins; kWayOut is a native cell with a gateway.
enum class Cellar : unsigned char { kNative, kBwrap, kProcess, kOverlay, kCopy, kWayOut };

std::string to_string(Lane lane);
std::string to_string(Cellar cellar);
bool has_workspace(Cellar cellar);

// What is taken out of the run, in the words of weaken.h; all of it together must let the attack through. "root/WHAT"
// goes as root only.
using Removal = std::vector<std::string>;

struct Case {
  int number = 0;
  std::string variant{};  // distinguishes two cases of one number
  std::string victim{};
  std::string attack{};  // one of the victim's; empty: all of them at once
  // From the victim's header, down to the blank line:
  std::vector<std::string> args{};          // of the victim
  std::vector<std::string> process_args{};  // of the victim on tier 0, in place of args
  std::vector<std::string> way_out_args{};  // the same in a cell with a gateway
  std::vector<std::string> options{};       // of `cloche run`; @READ@, @WRITE@ and @DIR@ are the bait's directories
  std::vector<std::string> bait{};          // of the bait program
  std::vector<int> expected = {0};          // exit codes that mean "held"
  std::string no_bwrap{};                   // why this backend does not give the property; empty: it does
  std::string no_bwrap_root{};              // why it does not under root
  std::string no_process{};                 // why tier 0 does not promise it; empty: it does
  std::string no_process_user{};            // why tier 0 does not promise it to an ordinary user
  bool same_for_all = true;                 // the victim's attacks differ in their arguments alone

  std::string root_bait_removed{};  // what only root can lay out, where only the removal needs it
  bool root_only = false;
  bool user_only = false;
  bool workspace_only = false;
  bool has_way_out = false;                 // tried in a cell with a gateway as well
  bool liveness = false;                    // the host must be able to start programs while the attack goes on
  std::vector<Removal> removals{};          // each one alone must make it fail
  std::vector<Removal> process_removals{};  // the same on tier 0
  std::string bare{};  // why nothing can be taken out; the victim then runs among the bait without Cloche
};

bool lane_possible(Lane lane);  // the root lane needs root

// Where the case runs: users that are possible here, cells that promise the property.
std::vector<std::pair<Lane, Cellar>> places_of(const Case& c);
// What is taken out there. An engine that reads back what it made would not start such a cell, so that goes, too.
std::vector<Removal> removals_on(const Case& c, Lane lane, Cellar cellar);

std::span<const Case> cases();

// "C01_root_native", "C03_own_pty_user_bwrap"
std::string test_name(const Case& c, Lane lane, Cellar cellar);

}  // namespace cloche::security
