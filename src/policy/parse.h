// A policy file: TOML text to Policy. Pure: files named by extends come through a callback.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "policy/policy.h"

namespace cloche {

// Given the path as written, joined to the directory of the file that names it.
using PolicyLoader = std::function<Result<std::string>(const std::string& path)>;

inline constexpr std::size_t kMaxExtendsDepth = 8;

// The policy is named after the file. A list or table of a child replaces its parent's; so does every other key.
// Without a loader, extends takes presets only.
Result<Policy> parse_policy(std::string_view text, std::string_view file_name, const PolicyLoader& loader = {});

}  // namespace cloche
