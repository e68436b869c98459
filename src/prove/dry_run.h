// Whether anything runs under a policy at all: a plan opens no grant, so what is refused only then shows in a cell.
#pragma once

#include <string>

#include "base/result.h"
#include "prove/runner.h"
#include "prove/stage.h"

namespace cloche::prove {

// What `cloche run` says where it refuses a program that does nothing under the policy; empty: it does not refuse. How
// that program ends is no matter of this.
Result<std::string> why_refused(const Plan& plan, const Stage& stage);

}  // namespace cloche::prove
