#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/policy_files.h"
#include "cli/run_options.h"
#include "policy/check.h"
#include "policy/json_schema.h"
#include "policy/presets.h"
#include "policy/print.h"
#include "policy/text.h"

namespace cloche::cli {
namespace {

constexpr auto kOptions = std::to_array<OptionSpec>({
    {"--ceiling",
     0,
     "FILE",
     "check: what the policy may not exceed, in addition to the system's ceiling",
     {},
     Times::kMany},
    {"--help", 'h', {}, "This text"},
});

std::unexpected<Error> usage(std::string message, std::string hint) {
  return fail(ErrorCode::kInvalidInput, "policy", std::move(message), std::move(hint));
}

int list_presets() {
  std::string out;
  for (const PresetInfo& info : presets()) out += fmt::format("{:<10} {}\n", info.name, info.description);
  return put(STDOUT_FILENO, out) ? 0 : kExitFailed;
}

int show(const std::string& name) {
  const auto policy = load_preset_or_file(name);
  if (!policy) return complain(policy.error(), exit_code_of(policy.error()));
  return put(STDOUT_FILENO, to_toml(*policy)) ? 0 : kExitFailed;
}

int check_file(const std::string& path, const Parsed& parsed) {
  const auto policy = load_preset_or_file(path);
  if (!policy) return complain(policy.error(), exit_code_of(policy.error()));
  if (const Status ok = check(*policy, path); !ok) return complain(ok.error(), kExitRefused);
  std::vector<std::string> ceilings;
  for (const Given& given : parsed.options) {
    if (given.spec->name == "--ceiling") ceilings.push_back(given.value);
  }
  if (const Status ok = enforce_ceilings(*policy, ceilings, read_environment()); !ok) {
    return complain(ok.error(), kExitRefused);
  }
  return put(STDOUT_FILENO, fmt::format("{}: ok\n", shown_text(path))) ? 0 : kExitFailed;
}

}  // namespace

constinit const Table kPolicyCommandOptions = kOptions;

int policy_command(Words words) {
  const std::array<Table, 1> tables{kPolicyCommandOptions};
  const auto parsed = parse_options(tables, words, Grammar::kMixed);
  if (!parsed) return usage_error(parsed.error(), "policy");
  if (parsed->has("--help")) return show_help("policy");
  const std::vector<std::string>& operands = parsed->operands;
  constexpr std::array<std::string_view, 4> kVerbs{"presets", "show", "check", "schema"};
  if (operands.empty()) {
    return usage_error(usage("what to do is missing", fmt::format("choose {}", join_quoted(kVerbs))).error(), "policy");
  }
  const std::string& verb = operands.front();
  const bool takes_file = verb == "show" || verb == "check";
  if (!takes_file && verb != "presets" && verb != "schema") {
    return usage_error(usage(fmt::format("{} is not known", shown_text(verb)),
                             fmt::format("the nearest is \"{}\"", nearest_word(verb, kVerbs)))
                           .error(),
                       "policy");
  }
  if (operands.size() != (takes_file ? 2U : 1U)) {
    return usage_error(usage(fmt::format("{} takes {}", verb, takes_file ? "one preset or file" : "nothing more"),
                             "see cloche help policy")
                           .error(),
                       "policy");
  }
  if (parsed->has("--ceiling") && verb != "check") {
    return usage_error(usage("--ceiling goes with check", "see cloche help policy").error(), "policy");
  }
  if (verb == "presets") return list_presets();
  if (verb == "schema") return put(STDOUT_FILENO, policy_json_schema()) ? 0 : kExitFailed;
  return verb == "show" ? show(operands[1]) : check_file(operands[1], *parsed);
}

}  // namespace cloche::cli
