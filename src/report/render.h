// A report for people. Nothing of a guest's reaches the terminal but through printable().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "report/report.h"

namespace cloche {

enum class Colour : std::uint8_t { kNever, kAlways };
enum class Detail : std::uint8_t {
  kNormal,  // tails only after a failure, and only their last lines
  kDebug,   // whole tails, life cycle and timing (K6)
};

struct RenderOptions {
  Colour colour = Colour::kNever;
  Detail detail = Detail::kNormal;
  std::size_t columns = 80;  // no line is wider; less than 20 counts as 20
  bool recorded = true;      // the run can be asked for by its id
};

// Outcome, usage, weakenings, denials, command, output and the receipt as a table.
std::string render(const Report& report, const RenderOptions& options);

// One or two lines for stderr: what happened and what to change. Empty after a plain exit with 0.
std::string render_summary(const Report& report, const RenderOptions& options);

// By limits of single processes the kernel refuses a call without a word to anybody but the guest.
bool is_unseen(const Report& report, Guarantee guarantee);
// What C libraries and interpreters ask for at every start and do without.
bool is_usual(const Denial& denial);
// The same of a guest that failed with these errors: also the socket to a daemon that the C library asks for names of
// users first, as shells do at their start, unless they sound like a socket or a refusal.
bool is_usual_beside(const Denial& denial, std::string_view errors);
// A change of owners, of a file whose name is in errors that speak of something busy: what was done with it next
// failed.
bool is_done_without(const Denial& denial, std::string_view errors);
// The denial to look at first, with the line that allows it, and how many more there are. Usual ones come last,
// and only after a guest that failed. Empty: none.
std::string denial_summary(const Report& report);
// Every denial with the line of a policy that would allow it, or why none may.
std::string render_denials(const Report& report, const RenderOptions& options);
// A guest chooses names, and could end one with words of ours. Others are our own words, which have blanks.
std::string shown_detail(const Denial& denial);

// One bar for each step of the launch, run and end. Empty if nothing was timed.
std::string render_timing(const Report& report, const RenderOptions& options);

// What happened, one printable sentence: the report's own message or one made from the outcome.
std::string sentence(const Report& report);
// What to change, printable: the report's own hint or the outcome's. May be empty.
std::string advice(const Report& report);
// "DIR: 2 added, 1 changed, 0 deleted", or why nothing was kept.
std::string workspace_line(const WorkspaceChanges& changes);

// What went through the gateway, one printable line each: the sum, then what was denied, then the rest; at most so
// many.
std::vector<std::string> network_lines(const NetworkUse& network, std::size_t at_most);

}  // namespace cloche
