#include "gateway/vault.h"

#include <algorithm>
#include <utility>

#include "gateway/flow.h"
#include "gateway/live_rules.h"
#include "gateway/scrub_response.h"
#include "gateway/secret_rules.h"
#include "gateway/secret_scan.h"
#include "gateway/secret_vault.h"
#include "gateway/shared.h"
#include "tls/authority.h"
#include "tls/prepare.h"
#include "tls/trust_store.h"

namespace cloche::gateway {
namespace {

proto::HttpError stopped(std::string reason) { return {.status = 403, .text = std::move(reason)}; }

}  // namespace

struct Vault::State {
  struct Lease {
    std::string name;
    bool granted = true;
    Clock::time_point end;
  };

  SecretVault secrets;
  std::vector<Lease> leases;
  std::optional<tls::Authority> authority;
  std::optional<tls::TrustStore> trusted;

  Lease* find(std::string_view name) {
    const auto found = std::ranges::find(leases, name, &Lease::name);
    return found == leases.end() ? nullptr : &*found;
  }
};

Vault::Vault(std::unique_ptr<State> state) : state_(std::move(state)) {}
Vault::Vault(Vault&&) noexcept = default;
Vault& Vault::operator=(Vault&&) noexcept = default;
Vault::~Vault() = default;

Result<Vault> Vault::make(egress::Settings& settings) {
  const Clock::time_point now = Clock::now();
  std::vector<State::Lease> leases;
  for (const egress::Secret& secret : settings.secrets) {
    const Clock::time_point end = end_of(secret.lasts, now);
    leases.push_back({secret.name, end > now, end});
  }
  CLOCHE_TRY_ASSIGN(SecretVault secrets, SecretVault::take(settings.secrets));
  settings.secrets.clear();
  auto state = std::make_unique<State>(State{std::move(secrets), std::move(leases), std::nullopt, std::nullopt});
  for (const State::Lease& lease : state->leases) {
    if (!lease.granted) state->secrets.revoke(lease.name);
  }
  if (settings.ends_tls) {
    CLOCHE_TRY(tls::prepare());
    CLOCHE_TRY_ASSIGN(state->authority, tls::Authority::make());
    CLOCHE_TRY_ASSIGN(state->trusted, tls::TrustStore::from_pem(settings.ca_bundle));
  }
  settings.ca_bundle.clear();
  return Vault(std::move(state));
}

bool Vault::has_secrets() const { return !state_->secrets.empty(); }
bool Vault::ends_tls() const { return state_->authority.has_value(); }
std::string Vault::authority_pem() const { return ends_tls() ? state_->authority->pem() : std::string(); }

tls::ServerSession Vault::towards_guest(const std::string& name) { return {*state_->authority, name}; }
tls::ClientSession Vault::towards_server(const std::string& name) const { return {name, *state_->trusted}; }

SecretScan Vault::scan() const { return {state_->secrets, "in what is sent"}; }

std::string Vault::stopped_name(std::string_view name) const {
  const SecretVault::Entry* entry = placeholder_in_name(state_->secrets, name);
  return entry != nullptr ? stop_sentence(*entry, "in a name") : std::string();
}

bool Vault::has_secret_for(const Target& target) const {
  if (!target.name) return false;
  return std::ranges::any_of(state_->secrets.entries(),
                             [&](const auto& entry) { return entry.is_for(*target.name, target.port); });
}

std::optional<proto::HttpError> Vault::put_in(proto::HttpRequestHead& head, const Target& target, Wrapping wrapping,
                                              std::vector<std::string>& used) const {
  if (!has_secrets()) return std::nullopt;
  if (!target.name) {  // no secret belongs there
    SecretScan scan = this->scan();
    (void)scan.feed(proto::render(head));
    if (scan.stopped()) return stopped(scan.reason());
    return std::nullopt;
  }
  constexpr std::uint16_t kHttpPort = 80;
  const bool fitting = wrapping == Wrapping::kTls || target.port == kHttpPort || target.name->text() == "localhost";
  // No secret is for port 0: every placeholder is in the wrong place then.
  SecretVerdict verdict = SecretRules(state_->secrets).apply(head, *target.name, fitting ? target.port : 0);
  if (verdict.kind == SecretVerdict::Kind::kStopped) {
    if (!fitting) verdict.reason += "; without TLS secrets go to port 80 and to localhost only";
    return stopped(std::move(verdict.reason));
  }
  for (std::string& name : verdict.names) {
    if (std::ranges::find(used, name) == used.end()) used.push_back(std::move(name));
  }
  // Elsewhere answers are not looked through, and may come as they like.
  if (has_secret_for(target)) ask_for_plain_bytes(head);
  return std::nullopt;
}

Status Vault::grant(std::string_view name, const egress::Lasts& lasts, Clock::time_point now) {
  State::Lease* lease = state_->find(name);
  if (lease == nullptr) {
    return fail(ErrorCode::kInvalidInput, "grant",
                "\"" + std::string(name) + "\" was not among the run's secrets at its start",
                "list it in [[secrets]] with for = \"0s\" to grant it later");
  }
  lease->granted = true;
  lease->end = end_of(lasts, now);
  state_->secrets.grant(name);
  return {};
}

Status Vault::revoke(std::string_view name) {
  State::Lease* lease = state_->find(name);
  if (lease == nullptr || !lease->granted) {
    return fail(ErrorCode::kNotFound, "revoke", "the run has no grant of the secret \"" + std::string(name) + "\"");
  }
  lease->granted = false;
  state_->secrets.revoke(name);
  return {};
}

Clock::time_point Vault::next_end() const {
  Clock::time_point next = kNever;
  for (const State::Lease& lease : state_->leases) {
    if (lease.granted) next = std::min(next, lease.end);
  }
  return next;
}

std::vector<std::string> Vault::expire(Clock::time_point now) {
  std::vector<std::string> over;
  for (State::Lease& lease : state_->leases) {
    if (!lease.granted || lease.end > now) continue;
    lease.granted = false;
    state_->secrets.revoke(lease.name);
    over.push_back(lease.name);
  }
  return over;
}

struct SecretWatcher::State {
  explicit State(const SecretVault& vault) : secrets(vault), scan(vault) {}
  const SecretVault& secrets;
  SecretScan scan;
  std::optional<ScrubStream> scrub;  // only of hosts that have a value, or had
};

SecretWatcher::SecretWatcher() = default;
SecretWatcher::~SecretWatcher() = default;

void SecretWatcher::begin(const Vault& vault, const Target& target) {
  state_.reset();
  if (!vault.has_secrets()) return;
  const SecretVault& secrets = vault.state_->secrets;
  state_ = std::make_unique<State>(secrets);
  if (vault.has_secret_for(target)) state_->scrub.emplace(secrets);
}

bool SecretWatcher::holds() const {
  return state_ && (state_->scan.holds() || (state_->scrub && state_->scrub->holds()));
}

std::string SecretWatcher::stopped_by() const { return state_ ? state_->scan.reason() : std::string(); }

std::optional<proto::HttpError> SecretWatcher::request_body(std::string& payload, proto::HttpPart part) {
  if (!state_) return std::nullopt;
  std::string clean = state_->scan.feed(payload);
  if (part != proto::HttpPart::kMore) clean += state_->scan.let_go();
  if (state_->scan.stopped()) return stopped(state_->scan.reason());
  payload = std::move(clean);
  return std::nullopt;
}

std::optional<proto::HttpError> SecretWatcher::response_head(proto::HttpResponseHead& head) {
  if (!state_ || !state_->scrub) return std::nullopt;
  if (const Status plain = check_plain_bytes(head); !plain) {
    return proto::HttpError{.status = 502, .text = plain.error().message};
  }
  if (const Status clean = scrub_head(state_->secrets, head); !clean) {
    return proto::HttpError{.status = 502, .text = clean.error().message};
  }
  return std::nullopt;
}

std::optional<proto::HttpError> SecretWatcher::response_body(std::string& payload, proto::HttpPart part) {
  if (!state_ || !state_->scrub) return std::nullopt;
  std::string clean = state_->scrub->feed(payload);
  if (part != proto::HttpPart::kMore) clean += state_->scrub->let_go();
  if (state_->scrub->stopped()) return proto::HttpError{.status = 502, .text = std::string(ScrubStream::kStopped)};
  payload = std::move(clean);
  return std::nullopt;
}

}  // namespace cloche::gateway
