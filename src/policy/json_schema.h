// The policy file's JSON Schema (draft 2020-12), generated from the table of keys.
#pragma once

#include <string>

namespace cloche {

std::string policy_json_schema();

}  // namespace cloche
