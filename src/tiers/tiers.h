// The tiers: each turns a plan into a running cell. None knows of another.
#pragma once

#include "base/result.h"
#include "launch/cell.h"
#include "plan/plan.h"

namespace cloche {

// The first process of the usual namespace cell: what can be started before there is a plan.
SpawnSpec first_process(const HostFacts& host);
// Furnishes a keeper's cell: limits, grants, steps.
Status furnish(const Plan& plan, const LaunchContext& context, Cell& cell);
Result<Cell> start_namespace(const Plan& plan, const LaunchContext& context);
Result<Cell> start_process(const Plan& plan, const LaunchContext& context);
Result<Cell> start_bwrap(const Plan& plan, const LaunchContext& context);

}  // namespace cloche
