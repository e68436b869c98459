#include "prove/dry_run.h"

#include <string_view>

#include "prove/child.h"

namespace cloche::prove {
namespace {

constexpr int kRefused = 126;
constexpr int kWrong = 2;

// The sentence that is ours among what else was said.
std::string refusal_in(const std::string& output) {
  constexpr std::string_view kOurs = "cloche: ";
  const std::size_t at = output.rfind("\n" + std::string(kOurs));
  const std::string line = at == std::string::npos ? output : output.substr(at + 1);
  return line.substr(0, line.find('\n'));
}

}  // namespace

Result<std::string> why_refused(const Plan& plan, const Stage& stage) {
  Words words{plan.cloche, "run", "--quiet"};
  words.insert(words.end(), plan.policy.begin(), plan.policy.end());
  words.insert(words.end(), {"--", "/bin/true"});
  Environment env = plan.env;
  env["CLOCHE_STATE_DIR"] = stage.in("state");
  CLOCHE_TRY_ASSIGN(Child cell, Child::start(words, env, "."));
  while (!cell.is_over()) cell.read_some();
  const int code = cell.reap();
  return code == kRefused || code == kWrong ? refusal_in(cell.output()) : std::string();
}

}  // namespace cloche::prove
