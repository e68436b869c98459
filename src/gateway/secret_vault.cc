#include "gateway/secret_vault.h"

#include <string.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <variant>

#include "base/units.h"
#include "base/wipe.h"
#include "gateway/secret_text.h"
#include "proto/http_message.h"

namespace cloche::gateway {
namespace {

std::unexpected<Error> refuse(const egress::Secret& secret, const std::string& why) {
  return fail(ErrorCode::kInvalidInput, "secret " + shown_text(secret.name), why);
}

bool has_controls(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

Status check(const egress::Secret& secret) {
  if (secret.value.size() < kMinSecret || secret.value.size() > kMaxSecret) {
    return refuse(secret, "its value has " + std::to_string(secret.value.size()) + " bytes; it may have " +
                              std::to_string(kMinSecret) + " to " + std::to_string(kMaxSecret));
  }
  if (has_controls(secret.value)) return refuse(secret, "its value has control characters, such as the end of a line");
  if (secret.placeholder.size() != secret.value.size() || has_controls(secret.placeholder) ||
      secret.placeholder == secret.value) {
    return refuse(secret, "its placeholder is not of the value's shape");
  }
  if (secret.hosts.empty()) return refuse(secret, "it is for no host");
  if (secret.place == egress::SecretPlace::kHeader &&
      (!is_token(secret.field) || proto::is_for_the_way(secret.field))) {
    return refuse(secret, shown_text(secret.field) + " is no header that may hold a secret");
  }
  if (secret.place == egress::SecretPlace::kQuery && secret.field.empty()) {
    return refuse(secret, "its parameter has no name");
  }
  return {};
}

// If one lay in another, it would not be clear which of them a request holds.
Status check_apart(const std::vector<egress::Secret>& secrets) {
  for (const egress::Secret& a : secrets) {
    for (const egress::Secret& b : secrets) {
      const bool is_inside = &a != &b && b.placeholder.find(a.placeholder) != std::string::npos;
      if (is_inside || b.value.find(a.placeholder) != std::string::npos ||
          b.placeholder.find(a.value) != std::string::npos) {
        return refuse(a, "its placeholder or value lies in another one; start again for new placeholders");
      }
    }
  }
  return {};
}

Result<SecretVault::Entry> to_entry(const egress::Secret& secret) {
  CLOCHE_TRY(check(secret));
  SecretVault::Entry entry{secret.name, secret.placeholder, {}, secret.place, secret.field, true};
  entry.granted = !secret.lasts || secret.lasts->count() > 0;
  for (const std::string& text : secret.hosts) {
    CLOCHE_TRY_ASSIGN(proto::NetRule rule, proto::parse_net_rule(text));
    if (!std::holds_alternative<proto::HostName>(rule.host())) {
      return refuse(secret, shown_text(text) + " is no host; a secret goes to a full name and its port");
    }
    entry.hosts.push_back(std::move(rule));
  }
  return entry;
}

struct WipesValues {
  std::vector<egress::Secret>& secrets;
  ~WipesValues() {
    for (egress::Secret& secret : secrets) wipe(secret.value);
  }
};

}  // namespace

struct SecretVault::State {
  std::vector<Entry> entries;
  std::vector<SecretText> values;
  std::optional<SecretMatcher> find_placeholder;
  std::optional<SpelledTexts> find_value;

  void build_matchers(const QuietText::Key& key);
};

void SecretVault::State::build_matchers(const QuietText::Key& key) {
  std::vector<SecretForm> placeholder_forms, value_forms;
  std::vector<SecretMatcher::Needle> placeholder_needles;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (SecretForm& form : forms_of(entries[i].placeholder, entries[i].placeholder)) {
      placeholder_needles.push_back({{}, static_cast<std::uint32_t>(i)});
      placeholder_forms.push_back(std::move(form));
    }
    for (SecretForm& form : plain_forms_of(values[i].view(), entries[i].placeholder)) {
      value_forms.push_back(std::move(form));
    }
  }
  // Only now the texts stay where they are.
  for (std::size_t i = 0; i < placeholder_forms.size(); ++i) {
    placeholder_needles[i].bytes = placeholder_forms[i].bytes.view();
  }
  find_placeholder.emplace(placeholder_needles);
  find_value.emplace(std::move(value_forms), key);
}

bool SecretVault::Entry::is_for(const proto::HostName& host, std::uint16_t port) const {
  return std::ranges::any_of(hosts, [&](const proto::NetRule& rule) { return rule.matches(host, port); });
}

SecretVault::SecretVault(std::unique_ptr<State> state) : state_(std::move(state)) {}
SecretVault::SecretVault(SecretVault&&) noexcept = default;
SecretVault::~SecretVault() = default;

Result<SecretVault> SecretVault::take(std::vector<egress::Secret>& secrets) {
  const WipesValues at_the_end{secrets};
  if (secrets.size() > kMaxSecrets) {
    return fail(ErrorCode::kInvalidInput, "secrets", "there are more than " + std::to_string(kMaxSecrets) + " secrets");
  }
  auto state = std::make_unique<State>();
  state->values.reserve(secrets.size());
  for (const egress::Secret& secret : secrets) {
    CLOCHE_TRY_ASSIGN(Entry entry, to_entry(secret));
    state->entries.push_back(std::move(entry));
    state->values.emplace_back(std::string(secret.value));
  }
  CLOCHE_TRY(check_apart(secrets));
  QuietText::Key key;
  if (::getrandom(key.data(), sizeof key, 0) != static_cast<ssize_t>(sizeof key)) {
    return fail_errno(errno, "secrets", "the kernel gave no random bytes", "allow getrandom in the filter around us");
  }
  state->build_matchers(key);
  explicit_bzero(key.data(), sizeof key);
  return SecretVault(std::move(state));
}

const std::vector<SecretVault::Entry>& SecretVault::entries() const { return state_->entries; }
std::string_view SecretVault::value(std::size_t index) const { return state_->values[index].view(); }
const SecretMatcher& SecretVault::placeholders() const { return *state_->find_placeholder; }
const SpelledTexts& SecretVault::values() const { return *state_->find_value; }

bool SecretVault::grant(std::string_view name) { return set_granted(name, true); }
bool SecretVault::revoke(std::string_view name) { return set_granted(name, false); }

bool SecretVault::set_granted(std::string_view name, bool granted) {
  bool is_known = false;
  for (Entry& entry : state_->entries) {
    if (entry.name != name) continue;
    entry.granted = granted;
    is_known = true;
  }
  return is_known;
}

}  // namespace cloche::gateway
