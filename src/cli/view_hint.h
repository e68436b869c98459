// What a guest that failed in a cell without anything of the host's may have looked for: the directory that it was
// started in.
#pragma once

#include <string_view>

#include "cli/run_options.h"
#include "policy/policy.h"
#include "report/report.h"

namespace cloche::cli {

// Whether errors sound like a file that is missing where the guest stood, and not by a name of its own.
bool sounds_like_an_empty_directory(std::string_view errors);

// As a hint of the outcome, where nothing else explains the failure: the policy grants no files, or what it grants of
// the directory lies where the guest did not begin.
void hint_at_directory(Report& report, const Policy& policy, const RunArgs& args, const Environment& env);

}  // namespace cloche::cli
