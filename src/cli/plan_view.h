// A plan for people and for programs.
#pragma once

#include <string>
#include <string_view>

#include "plan/plan.h"
#include "report/render.h"

namespace cloche::cli {

std::string render_plan(const Plan& plan, Colour colour);  // about 100 columns
std::string plan_to_json(const Plan& plan);

// What stands for a secret's variable: the placeholder itself is made when the run starts.
inline constexpr const char* kPlaceholder = "(placeholder)";
bool is_secret(const Plan& plan, std::string_view name);

}  // namespace cloche::cli
