#include "observe/below.h"

#include <string>

#include <fmt/format.h>

#include "policy/parse.h"

namespace cloche::observe {
namespace {

Result<Policy> with_line(const std::string& line) {
  return parse_policy("version = 1\nextends = \"untrusted\"\n" + line + "\n", "advice");
}

}  // namespace

void keep_below(std::vector<Denial>& denials, const std::vector<Ceiling>& ceilings) {
  for (Denial& denial : denials) {
    if (denial.allow.empty() || ceilings.empty()) continue;
    const auto policy = with_line(denial.allow);
    if (!policy) continue;
    for (const Ceiling& ceiling : ceilings) {
      if (const Status fits = enforce(*policy, ceiling); !fits) {
        denial.allow.clear();
        denial.never = "the operator's ceiling: " + fits.error().message;
        break;
      }
    }
  }
}

void keep_to_backend(Denial& denial, const Plan& plan) {
  // The native one takes whatever a policy can say.
  if (denial.allow.empty() || plan.backend == Backend::kNamespace) return;
  const auto policy = with_line(denial.allow);
  if (!policy) return;
  if (const Status fits = fits_backend(plan, *policy); !fits) {
    denial.never = fmt::format("{}: {}, and then {}", fits.error().message, fits.error().hint, denial.allow);
    denial.allow.clear();
  }
}

}  // namespace cloche::observe
