#include "engine/live_grants.h"

#include <algorithm>
#include <cerrno>

#include "base/units.h"
#include "engine/engine.h"
#include "policy/ceiling.h"
#include "policy/check.h"
#include "policy/way_out.h"
#include "sys/file.h"

namespace cloche {
namespace {

constexpr std::size_t kMaxCeiling = 1 << 20;

// A policy that asks for this and nothing else.
Policy asks_for(const egress::Change& change, const Policy& of_run) {
  Policy out;
  switch (change.what) {
    case egress::Change::What::kHost:
      out.net_allow.push_back({change.text, change.lasts});
      break;
    case egress::Change::What::kSocket:
      out.sockets.push_back({change.text, change.lasts});
      break;
    case egress::Change::What::kSecret:
      std::ranges::copy_if(of_run.secrets, std::back_inserter(out.secrets),
                           [&](const SecretGrant& secret) { return secret.name == change.text; });
      break;
  }
  return out;
}

std::string step_of(const egress::Change& change) { return std::string(to_string(change.what)); }

Status about(const egress::Change& change, Status status) {
  if (status) return {};
  Error error = std::move(status).error();
  if (error.step != "ceiling") error.step = step_of(change);
  return std::unexpected(std::move(error));
}

// net.deny wins, so it would be granted and stay denied.
Status check_not_denied(const egress::Change& change, const Policy& policy) {
  for (const std::string& denied : policy.net_deny) {
    if (!rule_covers(denied, change.text)) continue;
    return fail(ErrorCode::kRefused, step_of(change), "net.deny of the run has \"" + denied + "\", and that wins",
                "a run without that line can be granted it");
  }
  return {};
}

}  // namespace

Status check_change(const egress::Change& change) {
  if (change.text.empty() || change.text.size() > egress::kMaxChangeText) {
    return fail(ErrorCode::kInvalidInput, step_of(change),
                change.text.empty() ? "it names nothing" : "its text is too long");
  }
  if (change.lasts && change.lasts->count() == 0) {
    return fail(ErrorCode::kInvalidInput, step_of(change), "--for must be longer than nothing",
                "cloche revoke takes a grant back");
  }
  const GrantList grants{{change.text, change.lasts}};
  switch (change.what) {
    case egress::Change::What::kHost:
      CLOCHE_TRY(about(change, check_grants(spec_of(Key::kNetAllow), grants)));
      return about(change, check(asks_for(change, {}), "grant"));
    case egress::Change::What::kSocket:
      return about(change, check_grants(spec_of(Key::kSocketsAllow), grants));
    case egress::Change::What::kSecret:
      if (!is_variable_name(change.text)) {
        return fail(ErrorCode::kInvalidInput, step_of(change), shown_text(change.text) + " is not the name of a secret",
                    "give the name that [[secrets]] has");
      }
      return about(change, check_lasts(spec_of(Key::kSecrets), change.lasts));
  }
  return fail(ErrorCode::kInternal, "grant", "that cannot be granted");
}

struct LiveGrants::State {
  Policy policy;
  std::vector<Ceiling> ceilings;
};

LiveGrants::LiveGrants(const Policy& policy, const std::vector<Ceiling>& ceilings)
    : state_(std::make_shared<const State>(policy, ceilings)) {}

Status LiveGrants::check_grant(const egress::Change& change, const std::vector<Ceiling>& today) const {
  CLOCHE_TRY(check_change(change));
  if (change.what == egress::Change::What::kHost) CLOCHE_TRY(check_not_denied(change, state_->policy));
  const Policy asked = asks_for(change, state_->policy);
  for (const std::vector<Ceiling>* ceilings : {&state_->ceilings, &today}) {
    for (const Ceiling& ceiling : *ceilings) CLOCHE_TRY(about(change, enforce_way_out(asked, ceiling)));
  }
  return {};
}

Status LiveGrants::check_grant(const egress::Change& change) const {
  CLOCHE_TRY_ASSIGN(const std::vector<Ceiling> today, system_ceiling());
  return check_grant(change, today);
}

Result<std::vector<Ceiling>> system_ceiling() {
  std::vector<Ceiling> out;
  const auto text = sys::read_file(kSystemCeiling, kMaxCeiling);
  if (!text && (text.error().errno_value == ENOENT || text.error().errno_value == ENOTDIR)) return out;
  if (!text) return std::unexpected(text.error());
  CLOCHE_TRY_ASSIGN(Ceiling ceiling, parse_ceiling(*text, kSystemCeiling));
  out.push_back(std::move(ceiling));
  return out;
}

}  // namespace cloche
