// The secrets of a run: the one place that holds their values. It hands a value out to who puts it into a request, and
// to nobody else; no error, log or record is made of one.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "egress/settings.h"
#include "gateway/secret_matcher.h"
#include "gateway/spelled_search.h"
#include "proto/host_name.h"
#include "proto/net_rule.h"

namespace cloche::gateway {

// A placeholder has the length of its value; a shorter one would be met by chance.
inline constexpr std::size_t kMinSecret = 8;
inline constexpr std::size_t kMaxSecret = std::size_t{8} * 1024;
inline constexpr std::size_t kMaxSecrets = 256;

class SecretVault {
 public:
  struct Entry {
    std::string name;
    std::string placeholder;
    std::vector<proto::NetRule> hosts;  // names, no patterns
    egress::SecretPlace place{};
    std::string field;
    bool granted = true;  // a lease may be over, or not have begun

    bool is_for(const proto::HostName& host, std::uint16_t port) const;
  };

  // The values are wiped where they were, whatever comes of it.
  static Result<SecretVault> take(std::vector<egress::Secret>& secrets);
  SecretVault(SecretVault&&) noexcept;
  SecretVault& operator=(SecretVault&&) = delete;
  ~SecretVault();

  bool empty() const { return entries().empty(); }
  const std::vector<Entry>& entries() const;
  std::string_view value(std::size_t index) const;

  // False if there is no secret of that name. What is revoked goes into no request any more; it is still looked for in
  // answers, since a server may remember it.
  bool grant(std::string_view name);
  bool revoke(std::string_view name);

  const SecretMatcher& placeholders() const;  // every form; the tag is the index of the entry
  const SpelledTexts& values() const;         // in themselves and in base64

 private:
  struct State;
  explicit SecretVault(std::unique_ptr<State> state);
  bool set_granted(std::string_view name, bool granted);

  std::unique_ptr<State> state_;
};

}  // namespace cloche::gateway
