// A plan for people and for programs.
#pragma once

#include <string>

#include "plan/plan.h"
#include "report/render.h"

namespace cloche::cli {

std::string render_plan(const Plan& plan, Colour colour);  // about 100 columns
std::string plan_to_json(const Plan& plan);

}  // namespace cloche::cli
