// Lines that an operator's ceiling would refuse are none.
#pragma once

#include <vector>

#include "policy/ceiling.h"
#include "report/report.h"

namespace cloche::observe {

void keep_below(std::vector<Denial>& denials, const std::vector<Ceiling>& ceilings);

}  // namespace cloche::observe
