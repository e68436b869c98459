#include <unistd.h>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/plan_view.h"
#include "cli/run_options.h"

namespace cloche::cli {

Result<Plan> plan_of(const RunArgs& args) {
  const Environment env = read_environment();
  CLOCHE_TRY_ASSIGN(const Policy policy, make_policy(args, env));
  CLOCHE_TRY_ASSIGN(const Request request, make_request(args, policy, env));
  return make_plan(policy, request, probe_for(policy, request));
}

int plan_command(Words words) {
  const auto args = read_run_args(words);
  if (!args) return usage_error(args.error(), "plan");
  if (args->parsed.has("--help")) return show_help("plan");
  const std::string when = args->parsed.has("--no-color") ? "never"
                           : args->parsed.has("--color")  ? args->parsed.value("--color")
                                                          : "auto";
  const auto colour = choose_colour(when, STDOUT_FILENO);
  if (!colour) return usage_error(colour.error(), "plan");
  const auto plan = plan_of(*args);
  if (!plan) return complain(plan.error(), exit_code_of(plan.error()));
  const std::string text = args->parsed.has("--json") ? plan_to_json(*plan) : render_plan(*plan, *colour);
  return put(STDOUT_FILENO, text) ? 0 : kExitFailed;
}

}  // namespace cloche::cli
