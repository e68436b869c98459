#include "cli/policy_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/units.h"
#include "engine/engine.h"
#include "policy/ceiling.h"
#include "policy/parse.h"
#include "policy/presets.h"
#include "sys/file.h"

namespace cloche::cli {
namespace {

constexpr std::size_t kMaxPolicyFile = 1 << 20;

Result<std::string> read_text(const std::string& path) {
  auto text = sys::read_file(path, kMaxPolicyFile);
  if (text) return text;
  Error error = std::move(text.error());
  error.code = error.errno_value == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInvalidInput;
  error.step = "policy";
  error.message = fmt::format("{} {}", shown_text(path), error.errno_value != 0 ? "cannot be read" : error.message);
  error.hint = "name a readable TOML file; `cloche policy presets` lists what needs none";
  return std::unexpected(std::move(error));
}

Status add_file(std::vector<Ceiling>& ceilings, const std::string& path) {
  CLOCHE_TRY_ASSIGN(const std::string text, read_text(path));
  CLOCHE_TRY_ASSIGN(Ceiling ceiling, parse_ceiling(text, path));
  ceilings.push_back(std::move(ceiling));
  return {};
}

}  // namespace

Result<Policy> load_policy(const std::string& path) {
  CLOCHE_TRY_ASSIGN(const std::string text, read_text(path));
  return parse_policy(text, path, [](const std::string& parent) { return read_text(parent); });
}

Result<Policy> load_preset_or_file(const std::string& name) {
  const bool is_path = name.find('/') != std::string::npos || name.ends_with(".toml");
  return is_path ? load_policy(name) : preset(name);
}

Result<std::vector<Ceiling>> load_ceilings(const std::vector<std::string>& named,
                                           const std::map<std::string, std::string>& env) {
  std::vector<Ceiling> out;
  // Only a file that is not there is no ceiling; one that cannot be read refuses.
  if (::access(kSystemCeiling, F_OK) == 0 || errno != ENOENT) {
    const bool absent = errno == ENOTDIR && ::access(kSystemCeiling, F_OK) != 0;
    if (!absent) CLOCHE_TRY(add_file(out, kSystemCeiling));
  }
  if (const auto it = env.find("CLOCHE_CEILING"); it != env.end() && !it->second.empty()) {
    CLOCHE_TRY(add_file(out, it->second));
  }
  for (const std::string& path : named) CLOCHE_TRY(add_file(out, path));
  return out;
}

Status enforce_ceilings(const Policy& policy, const std::vector<std::string>& named,
                        const std::map<std::string, std::string>& env) {
  CLOCHE_TRY_ASSIGN(const std::vector<Ceiling> ceilings, load_ceilings(named, env));
  for (const Ceiling& ceiling : ceilings) CLOCHE_TRY(enforce(policy, ceiling));
  return {};
}

}  // namespace cloche::cli
