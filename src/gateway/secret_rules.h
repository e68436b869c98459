// Puts secrets into requests: at the place that the policy names, on the way to the host that it names. A placeholder
// anywhere else stops the request, since somebody tries to carry a secret to where it does not belong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/secret_vault.h"
#include "proto/host_name.h"
#include "proto/http_message.h"

namespace cloche::gateway {

struct SecretVerdict {
  enum class Kind { kUnchanged, kInjected, kStopped };
  Kind kind = Kind::kUnchanged;
  std::vector<std::string> names;  // kInjected: of the secrets
  std::string reason;              // kStopped: one sentence for the guest and for the report

  bool operator==(const SecretVerdict&) const = default;
};

class SecretRules {
 public:
  explicit SecretRules(const SecretVault& vault) : vault_(&vault) {}

  // `host` and `port` are those that the connection goes to, not what the head says of it. Unless injected, the head
  // stays as it was.
  SecretVerdict apply(proto::HttpRequestHead& head, const proto::HostName& host, std::uint16_t port) const;

 private:
  const SecretVault* vault_;
};

// Why a placeholder may not be where it was found: "in the header \"x\"", "in the body".
std::string stop_sentence(const SecretVault::Entry& entry, std::string_view where);

// The secret whose placeholder is in the name of a host, or null. Names know no case and few signs, and have dots every
// 63 letters at least: letters and digits are what counts.
const SecretVault::Entry* placeholder_in_name(const SecretVault& vault, std::string_view name);

}  // namespace cloche::gateway
