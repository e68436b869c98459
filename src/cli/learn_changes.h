// What a run of `cloche learn` would have changed on the host.
#pragma once

#include "engine/engine.h"
#include "learn/changes.h"

namespace cloche::cli {

// Finds out without writing anything, so that nothing is left by a `learn` that is killed. To be called when the guest
// is gone.
learn::Changed changes_of(const Plan& plan, const Leftovers& left, int cancel_fd);

}  // namespace cloche::cli
