// Presets: policies as C++ values. Nothing is parsed at start-up, because a run pays for it.
#pragma once

#include <span>
#include <string_view>

#include "policy/policy.h"

namespace cloche {

struct PresetInfo {
  std::string_view name;
  std::string_view description;
};

std::span<const PresetInfo> presets();
Result<Policy> preset(std::string_view name);

}  // namespace cloche
