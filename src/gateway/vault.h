// Vault: the values of secrets, the run's certificate authority and whom to trust outside. The one place that has them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "egress/settings.h"
#include "gateway/dialer.h"
#include "gateway/secret_scan.h"
#include "proto/http_exchange.h"
#include "tls/session.h"

namespace cloche::gateway {

// How long the end of what one side said so far waits for more, where it may be the beginning of something.
inline constexpr Millis kToHold{250};

enum class Wrapping { kPlain, kTls };  // what is around the bytes on their way to the server

class Vault {
 public:
  // Takes the values and the bundle out of the settings.
  static Result<Vault> make(egress::Settings& settings);
  Vault(Vault&&) noexcept;
  Vault& operator=(Vault&&) noexcept;
  ~Vault();

  bool has_secrets() const;
  bool ends_tls() const;
  std::string authority_pem() const;  // empty: TLS does not end here
  tls::ServerSession towards_guest(const std::string& name);
  tls::ClientSession towards_server(const std::string& name) const;

  // Looks for placeholders in what goes to a place that gets no value.
  SecretScan scan() const;
  // Why a name may not be looked up, spoken of or connected to: it has a placeholder in it. Empty: it has none.
  std::string stopped_name(std::string_view name) const;
  // Whether a secret is for this place, granted at the moment or not: what comes from there is looked through.
  bool has_secret_for(const Target& target) const;

  // Puts the secrets of this place into a request. Something: it is stopped, and why.
  // Without TLS that is done for port 80 and for localhost only: anybody on the way could read the value, and nobody
  // has checked who answers.
  std::optional<proto::HttpError> put_in(proto::HttpRequestHead& head, const Target& target, Wrapping wrapping,
                                         std::vector<std::string>& used) const;

  Status grant(std::string_view name, const egress::Lasts& lasts, Clock::time_point now);
  Status revoke(std::string_view name);
  Clock::time_point next_end() const;
  std::vector<std::string> expire(Clock::time_point now);

 private:
  friend class SecretWatcher;
  struct State;
  explicit Vault(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Looks through what passes after the head: no placeholder goes out in a body, no value comes back.
class SecretWatcher : public proto::HttpWatcher {
 public:
  SecretWatcher();
  ~SecretWatcher() override;
  // For the next request. Without secrets it does nothing.
  void begin(const Vault& vault, const Target& target);
  bool holds() const;              // bytes of either side, to be let go after a pause
  std::string stopped_by() const;  // why a body was stopped, or empty

  std::optional<proto::HttpError> request_body(std::string& payload, proto::HttpPart part) override;
  std::optional<proto::HttpError> response_head(proto::HttpResponseHead& head) override;
  std::optional<proto::HttpError> response_body(std::string& payload, proto::HttpPart part) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cloche::gateway
