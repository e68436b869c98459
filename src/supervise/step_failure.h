// What a step that failed means for whoever asked for the run.
#pragma once

#include "base/result.h"
#include "plan/plan.h"

namespace cloche {

// step: index in the plan, or a wire::Failure; error: errno.
Error explain_failure(const Plan& plan, int step, int error);

}  // namespace cloche
