// The options that `run` and `plan` share, and what they add up to: a policy and a request.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options.h"
#include "cli/way_out_options.h"
#include "plan/host_facts.h"
#include "plan/plan.h"
#include "plan/request.h"
#include "policy/policy.h"
#include "report/report.h"

namespace cloche {
class Control;
}

namespace cloche::cli {

extern const Table kPolicyOptions;   // which policy, and its keys
extern const Table kProgramOptions;  // what is run and how it is connected
extern const Table kOutputOptions;   // what cloche itself says

// The command line of one run. Whatever is wrong with it is found here, before any file of the policy is read.
struct RunArgs {
  Parsed parsed;
  std::vector<std::string> read;  // real paths
  std::vector<std::string> write;
  std::vector<std::string> exec;
  std::vector<std::string> workspaces;
  std::vector<std::pair<std::string, std::string>> puts;  // real path of the host, path in the cell
  std::vector<std::pair<std::string, std::string>> gets;  // path in the cell, absolute path of the host
  std::vector<std::string> artifacts;
  std::map<std::string, std::string> set;  // --env
  std::vector<std::string> pass;
  WayOutArgs way_out;

  bool from_stdin() const { return !parsed.dashes && parsed.operands.front() == "-"; }
};

Result<RunArgs> read_run_args(std::span<char* const> words);
// The same with the options of another command.
Result<RunArgs> read_run_args(std::span<char* const> words, std::span<const Table> tables);
// Scalars replace, grants are added.
Status apply_flags(Policy& policy, const RunArgs& args);

using Environment = std::map<std::string, std::string>;
Environment read_environment();

// Preset or file, then CLOCHE_* variables, then flags; checked, but for what `is_known` to be right, and held under
// every ceiling.
Result<Policy> make_policy(const RunArgs& args, const Environment& env,
                           const std::function<bool(const Policy&)>& is_known = {});
std::vector<std::string> named_ceilings(const RunArgs& args);
// Lines of policies that the report names, but that no policy could have here.
void keep_advice_below_ceilings(Report& report, const RunArgs& args, const Environment& env);
// A line that raises a limit is overruled by the flag that set it: says so behind the line, as a comment of TOML.
void name_flags_above(std::vector<Denial>& denials, const RunArgs& args);
std::string current_directory();
Result<Request> make_request(const RunArgs& args, const Policy& policy, Environment env);
// What a run with these words would do on this host.
Result<Plan> plan_of(const RunArgs& args);

// Where a run with a gateway listens for `cloche grant` and `cloche revoke`. Nothing: it has none, or there is no place
// for it, without which it runs as well.
std::shared_ptr<Control> make_control(const RunArgs& args, const Policy& policy, const Environment& env,
                                      const std::string& id);

// The fast probe, and what this policy alone needs to know beyond it.
HostFacts probe_for(const Policy& policy, const Request& request);

}  // namespace cloche::cli
