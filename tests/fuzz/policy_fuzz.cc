// Policy files, ceiling files, sizes and durations from anybody. Beyond not crashing: what parses is a policy that the
// checks accept, and what is printed parses back to the same value.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "base/units.h"
#include "policy/ceiling.h"
#include "policy/check.h"
#include "policy/env_names.h"
#include "policy/overrides.h"
#include "policy/parse.h"
#include "policy/presets.h"
#include "policy/print.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void fuzz_units(std::string_view text) {
  if (const auto bytes = cloche::parse_bytes(text)) require(cloche::parse_bytes(cloche::to_text(*bytes)) == *bytes);
  if (const auto time = cloche::parse_duration(text)) require(cloche::parse_duration(cloche::to_text(*time)) == *time);
}

void fuzz_policy(std::string_view text) {
  // Every file of the chain is the input itself: cycles and depth come for free.
  const cloche::PolicyLoader loader = [text](const std::string&) -> cloche::Result<std::string> {
    return std::string(text);
  };
  const auto policy = cloche::parse_policy(text, "fuzz.toml", loader);
  if (!policy) {
    require(!policy.error().message.empty());
    return;
  }
  require(cloche::check(*policy, "fuzz").has_value());
  const auto back = cloche::parse_policy(cloche::to_toml(*policy), "fuzz.toml");
  require(back.has_value() && *back == *policy);
  for (const auto& [name, value] : cloche::select_env(policy->env, {{"LD_PRELOAD", "host"}, {"A_B", "host"}})) {
    require(value != "host" || !cloche::is_dangerous_env(name) || policy->env.set.contains(name));
  }
}

void fuzz_ceiling(std::string_view text) {
  const auto ceiling = cloche::parse_ceiling(text, "ceiling.toml");
  if (!ceiling) return;
  for (const cloche::PresetInfo& info : cloche::presets()) {
    const auto status = cloche::enforce(*cloche::preset(info.name), *ceiling);
    require(status || status.error().code == cloche::ErrorCode::kRefused);
  }
}

void fuzz_overrides(std::string_view text) {
  cloche::Policy policy;
  for (const cloche::KeySpec& spec : cloche::key_table()) {
    cloche::Policy one;
    if (cloche::set_scalar(one, spec.name, text, "--fuzz")) {
      require(cloche::set_scalar(policy, spec.name, text, "--again").has_value());
    }
  }
  (void)cloche::apply_env_overrides(policy, {{"CLOCHE_" + std::string(text.substr(0, 40)), std::string(text)}});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fuzz_units(text);
  fuzz_policy(text);
  fuzz_ceiling(text);
  fuzz_overrides(text);
  return 0;
}
