#include "policy/overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "policy/key_value.h"
#include "policy/text.h"

namespace cloche {
namespace {

const KeySpec* find_by_environment(std::string_view name) {
  for (const KeySpec& spec : key_table()) {
    if (is_environment_name(name, spec)) return &spec;
  }
  return nullptr;
}

bool names_a_section(std::string_view name) {
  for (const std::string_view prefix :
       {"CLOCHE_LIMITS_", "CLOCHE_FILES_", "CLOCHE_ENV_", "CLOCHE_NET_", "CLOCHE_SOCKETS_", "CLOCHE_SECRETS"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

std::string nearest_variable(std::string_view name) {
  std::string best;
  std::size_t best_distance = SIZE_MAX;
  for (const KeySpec& spec : key_table()) {
    if (!is_settable(spec)) continue;
    std::string candidate = environment_name(spec);
    // Without the part all of them share, which would use up the 64 bytes that are compared.
    const std::size_t distance =
        edit_distance(name.substr(kVariables.size()), std::string_view(candidate).substr(kVariables.size()));
    if (distance < best_distance) {
      best_distance = distance;
      best = std::move(candidate);
    }
  }
  return best;
}

}  // namespace

Status set_scalar(Policy& policy, std::string_view dotted_key, std::string_view text, std::string_view origin) {
  const KeySpec* spec = find_key(dotted_key);
  if (spec == nullptr) {
    return fail(ErrorCode::kInvalidInput, std::string(origin), fmt::format("unknown key {}", shown_text(dotted_key)),
                fmt::format("the nearest known key is \"{}\"", nearest_key(dotted_key).name));
  }
  if (!is_settable(*spec)) {
    return fail(ErrorCode::kInvalidInput, std::string(origin), fmt::format("{} cannot be set by one text", spec->name),
                "write it in a policy file");
  }
  auto value = parse_scalar(*spec, text);
  if (!value) return located(origin, std::move(value.error()));
  store(policy, spec->key, *value);
  return {};
}

Status apply_env_overrides(Policy& policy, const std::map<std::string, std::string>& env) {
  std::optional<Policy> changed;
  for (auto it = env.lower_bound(std::string(kVariables)); it != env.end() && it->first.starts_with(kVariables); ++it) {
    const auto& [name, text] = *it;
    const KeySpec* spec = find_by_environment(name);
    if (spec != nullptr) {
      if (!changed) changed = policy;
      CLOCHE_TRY(set_scalar(*changed, spec->name, text, name));
    } else if (names_a_section(name)) {
      return fail(ErrorCode::kInvalidInput, "environment", fmt::format("{} is not a known variable", shown_text(name)),
                  fmt::format("the nearest is {}", nearest_variable(name)));
    }
  }
  if (changed) policy = std::move(*changed);
  return {};
}

}  // namespace cloche
