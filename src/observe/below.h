// Lines that would be refused are none: by an operator's ceiling, or by the tier and the backend of the run.
#pragma once

#include <vector>

#include "plan/plan.h"
#include "policy/ceiling.h"
#include "report/report.h"

namespace cloche::observe {

void keep_below(std::vector<Denial>& denials, const std::vector<Ceiling>& ceilings);
void keep_to_backend(Denial& denial, const Plan& plan);

}  // namespace cloche::observe
