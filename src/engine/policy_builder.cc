#include <filesystem>
#include <optional>

#include "cloche/cloche.h"
#include "policy/check.h"
#include "policy/overrides.h"
#include "policy/parse.h"
#include "policy/policy.h"
#include "policy/presets.h"

namespace cloche {

static_assert(static_cast<int>(Secret::Place::kBasic) == static_cast<int>(SecretGrant::Place::kBasic));
static_assert(static_cast<int>(Secret::Source::kCommand) == static_cast<int>(SecretGrant::Source::kCommand));

struct PolicyBuilder::State {
  Policy policy;
  std::optional<std::string> error;

  void keep(const Status& status) {
    if (!status && !error) error = status.error().text();
  }
};

PolicyBuilder::PolicyBuilder() : state_(std::make_unique<State>()) {}
PolicyBuilder::~PolicyBuilder() = default;
PolicyBuilder::PolicyBuilder(PolicyBuilder&&) noexcept = default;
PolicyBuilder& PolicyBuilder::operator=(PolicyBuilder&&) noexcept = default;

PolicyBuilder::PolicyBuilder(std::string_view name) : PolicyBuilder() {
  auto found = preset(name);
  if (found) {
    state_->policy = std::move(*found);
  } else {
    state_->error = found.error().text();
  }
}

PolicyBuilder PolicyBuilder::from_toml(std::string_view text, std::string_view name) {
  PolicyBuilder out;
  // A text has no directory, so it may extend presets only.
  const auto no_files = [](const std::string& path) -> Result<std::string> {
    return fail(ErrorCode::kInvalidInput, "extends", "a policy given as text cannot extend the file '" + path + "'",
                "extend a preset, or read the file yourself");
  };
  auto parsed = parse_policy(text, std::string(name), no_files);
  if (parsed) {
    out.state_->policy = std::move(*parsed);
  } else {
    out.state_->error = parsed.error().text();
  }
  return out;
}

PolicyBuilder& PolicyBuilder::limit(std::string_view name, std::string_view value) {
  return set("limits." + std::string(name), value);
}

PolicyBuilder& PolicyBuilder::set(std::string_view key, std::string_view value) {
  state_->keep(set_scalar(state_->policy, key, value, key));
  return *this;
}

PolicyBuilder& PolicyBuilder::read(std::string path) {
  state_->policy.files.read.push_back(std::move(path));
  return *this;
}

PolicyBuilder& PolicyBuilder::write(std::string path) {
  state_->policy.files.write.push_back(std::move(path));
  return *this;
}

PolicyBuilder& PolicyBuilder::exec(std::string path) {
  state_->policy.files.exec.push_back(std::move(path));
  return *this;
}

PolicyBuilder& PolicyBuilder::workspace(std::string path) {
  state_->policy.workspace.path.push_back(std::move(path));
  return *this;
}

PolicyBuilder& PolicyBuilder::env(std::string name, std::string value) {
  state_->policy.env.set[std::move(name)] = std::move(value);
  return *this;
}

PolicyBuilder& PolicyBuilder::allow_net(std::string rule) {
  state_->policy.net_allow.push_back({std::move(rule), {}});
  return *this;
}

PolicyBuilder& PolicyBuilder::deny_net(std::string rule) {
  state_->policy.net_deny.push_back(std::move(rule));
  return *this;
}

PolicyBuilder& PolicyBuilder::secret(Secret secret) {
  SecretGrant grant;
  grant.name = std::move(secret.name);
  grant.hosts = std::move(secret.hosts);
  grant.place = static_cast<SecretGrant::Place>(secret.place);
  grant.field = std::move(secret.field);
  grant.source = static_cast<SecretGrant::Source>(secret.source);
  grant.from = std::move(secret.from);
  state_->policy.secrets.push_back(std::move(grant));
  return *this;
}

PolicyBuilder& PolicyBuilder::socket(std::string path) {
  state_->policy.sockets.push_back({std::move(path), {}});
  return *this;
}

PolicyBuilder& PolicyBuilder::socket(std::string path, std::vector<std::string> methods) {
  state_->policy.socket_rules.push_back({path, std::move(methods), {}});
  return socket(std::move(path));
}

std::expected<PolicyHandle, std::string> PolicyBuilder::build() {
  std::error_code error;
  anchor_workspaces(state_->policy, std::filesystem::current_path(error).string());
  state_->keep(check(state_->policy, "policy"));
  if (state_->error) return std::unexpected(*state_->error);
  return PolicyHandle(std::make_shared<const Policy>(state_->policy));
}

}  // namespace cloche
