#include "policy/way_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>

#include "base/name_pattern.h"
#include "policy/text.h"
#include "proto/http_message.h"
#include "proto/net_rule.h"

namespace cloche {
namespace {

constexpr std::size_t kMaxFieldBytes = 128;
constexpr std::size_t kMaxCommandBytes = 4096;
constexpr std::size_t kMaxContextBytes = 1024;

// What the gateway itself writes, or what tells one request from the next.
bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool consists_of(std::string_view text, std::string_view punctuation) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return is_alphanumeric(c) || punctuation.find(c) != std::string_view::npos;
  });
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; });
}

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> out;
  for (const auto part : std::views::split(path, '/')) {
    if (!part.empty()) out.emplace_back(part.begin(), part.end());
  }
  return out;
}

// As many names as the outer one has. A home is nobody's until the run: only "~" covers "~".
bool covers_names(const std::vector<std::string>& outer, const std::vector<std::string>& inner) {
  const auto at_home = [](const std::vector<std::string>& path) { return !path.empty() && path.front() == "~"; };
  if (!outer.empty() && at_home(outer) != at_home(inner)) return false;
  for (std::size_t i = 0; i < outer.size(); ++i) {
    if (outer[i] != inner[i] && !name_matches(outer[i], inner[i])) return false;
  }
  return true;
}

std::unexpected<Error> wrong_rule(const KeySpec& spec, const Error& error) {
  return fail(ErrorCode::kInvalidInput, {}, fmt::format("{}: {}", spec.name, error.message),
              error.hint.empty() ? expectation(spec) : error.hint);
}

// "*:443" of a ceiling: any name at all. The rest of it is a rule's.
std::string named_bound(std::string_view bound) { return "any.invalid" + std::string(bound.substr(1)); }
bool is_any_name(std::string_view bound) { return bound.starts_with("*:"); }

Status check_hosts(const KeySpec& spec, const SecretGrant& secret) {
  if (secret.hosts.empty() || secret.hosts.size() > kMaxMethods) {
    return bad_value(spec, fmt::format("{} goes to {} hosts", shown_text(secret.name), secret.hosts.size()));
  }
  for (const std::string& host : secret.hosts) {
    const auto rule = proto::parse_net_rule(host);
    if (!rule) return wrong_rule(spec, rule.error());
    if (std::holds_alternative<proto::HostName>(rule->host())) continue;
    return fail(ErrorCode::kInvalidInput, {},
                fmt::format("secrets: {} is not one host by its name, so it cannot get {}", shown_text(host),
                            shown_text(secret.name)),
                "name each host in full, such as \"api.example.org:443\"");
  }
  return {};
}

Status check_place(const KeySpec& spec, const SecretGrant& secret) {
  switch (secret.place) {
    case SecretGrant::Place::kHeader:
      if (!consists_of(secret.field, "!#$%&'*+-.^_`|~") || secret.field.size() > kMaxFieldBytes) {
        return bad_value(spec, fmt::format("{} is not a header's name", shown_text(secret.field)));
      }
      if (proto::is_for_the_way(secret.field)) {
        return bad_value(spec, fmt::format("the header {} says how a request travels, and cannot carry a secret",
                                           shown_text(secret.field)));
      }
      return {};
    case SecretGrant::Place::kQuery:
      if (consists_of(secret.field, "_-.~") && secret.field.size() <= kMaxFieldBytes) return {};
      return bad_value(spec, fmt::format("{} is not a parameter's name", shown_text(secret.field)));
    case SecretGrant::Place::kBasic:
      if (secret.field.empty()) return {};
      return bad_value(spec, "basic has no field");
  }
  return bad_value(spec, fmt::format("{} has no place", shown_text(secret.name)));
}

Status check_from(const KeySpec& spec, const SecretGrant& secret) {
  switch (secret.source) {
    case SecretGrant::Source::kFile:
      return check_path(spec, secret.from);
    case SecretGrant::Source::kEnv:
      if (is_variable_name(secret.from)) return {};
      return bad_value(spec, fmt::format("value_env: {} is not a variable's name", shown_text(secret.from)));
    case SecretGrant::Source::kCommand:
      if (!secret.from.empty() && secret.from.size() <= kMaxCommandBytes && !has_control(secret.from)) return {};
      return bad_value(spec, fmt::format("value_command: {} is not a command", shown_text(secret.from)));
  }
  return bad_value(spec, fmt::format("{} has no source", shown_text(secret.name)));
}

// A star at the end stands for one or more characters.
bool is_method(std::string_view method) {
  const std::string_view stem = method.ends_with('*') ? method.substr(0, method.size() - 1) : method;
  return !method.empty() && method.size() <= kMaxFieldBytes && (stem.empty() || consists_of(stem, "._-/$:"));
}

Status check_socket_path(const KeySpec& spec, std::string_view path) {
  CLOCHE_TRY(check_path(spec, path));
  if (path.find("**") != std::string_view::npos) {
    return bad_value(spec, fmt::format("{} has two stars in a row, and a star stays within a name", shown_text(path)));
  }
  return {};
}

Status check_rule(const KeySpec& spec, const SocketRule& rule) {
  CLOCHE_TRY(check_socket_path(spec, rule.path));
  if (rule.methods.size() > kMaxMethods)
    return bad_value(spec, fmt::format("{} methods are too many", rule.methods.size()));
  for (const std::string& method : rule.methods) {
    if (is_method(method)) continue;
    return fail(ErrorCode::kInvalidInput, {}, fmt::format("sockets.rules: {} is not a method", shown_text(method)),
                "write a name such as \"flow.read\"; a star at its end, \"log.*\", stands for the rest");
  }
  if (rule.context.size() > kMaxContext) return bad_value(spec, "the context has too many entries");
  for (const auto& [name, text] : rule.context) {
    if (!consists_of(name, "_-.") || name.size() > kMaxFieldBytes) {
      return bad_value(spec, fmt::format("{} is not a name for an entry of the context", shown_text(name)));
    }
    if (text.size() > kMaxContextBytes || has_control(text) || !is_utf8(text)) {
      return bad_value(spec, fmt::format("the context's {} is too long, has control characters or is not UTF-8", name));
    }
  }
  return {};
}

}  // namespace

bool is_variable_name(std::string_view name) {
  return consists_of(name, "_") && name.size() <= kMaxEnvNameBytes && !(name.front() >= '0' && name.front() <= '9');
}

Status check_lasts(const KeySpec& spec, const Lasts& lasts) {
  if (!lasts || (lasts->count() >= 0 && *lasts <= kMaxLease)) return {};
  return fail(ErrorCode::kInvalidInput, {}, fmt::format("{}: {} is no time for a grant", spec.name, to_text(*lasts)),
              fmt::format("give for a duration up to {}; \"0s\" waits for cloche grant", to_text(kMaxLease)));
}

Status check_net_rule(const KeySpec& spec, std::string_view rule) {
  const auto parsed = proto::parse_net_rule(rule);
  if (!parsed) return wrong_rule(spec, parsed.error());
  return {};
}

Status check_net_bound(const KeySpec& spec, std::string_view rule) {
  return check_net_rule(spec, is_any_name(rule) ? named_bound(rule) : std::string(rule));
}

Status check_source(const KeySpec& spec, std::string_view source) {
  if (source == "command") return {};
  if (source.starts_with("file:")) return check_path(spec, source.substr(5));
  if (source.starts_with("env:")) {
    const std::string_view name = source.substr(4);
    if (is_variable_name(name.ends_with("_*") ? name.substr(0, name.size() - 1) : name)) return {};
  }
  return bad_value(spec, fmt::format("{} is not a source", shown_text(source)));
}

Status check_grants(const KeySpec& spec, const GrantList& grants) {
  if (grants.size() > kMaxListItems) {
    return bad_value(spec, fmt::format("{} entries are more than {}", grants.size(), kMaxListItems));
  }
  for (const TimedText& grant : grants) {
    CLOCHE_TRY(spec.type == KeyType::kNetGrants ? check_net_rule(spec, grant.text)
                                                : check_socket_path(spec, grant.text));
    CLOCHE_TRY(check_lasts(spec, grant.lasts));
  }
  return {};
}

Status check_secrets(const KeySpec& spec, const SecretList& secrets) {
  if (secrets.size() > kMaxSecrets) {
    return bad_value(spec, fmt::format("{} of them are more than {}", secrets.size(), kMaxSecrets));
  }
  for (const SecretGrant& secret : secrets) {
    if (!is_variable_name(secret.name)) {
      return bad_value(spec, fmt::format("{} is not a variable's name", shown_text(secret.name)));
    }
    CLOCHE_TRY(check_hosts(spec, secret));
    CLOCHE_TRY(check_place(spec, secret));
    CLOCHE_TRY(check_from(spec, secret));
    CLOCHE_TRY(check_lasts(spec, secret.lasts));
  }
  return {};
}

Status check_socket_rules(const KeySpec& spec, const SocketRules& rules) {
  if (rules.size() > kMaxSocketRules) {
    return bad_value(spec, fmt::format("{} of them are more than {}", rules.size(), kMaxSocketRules));
  }
  for (const SocketRule& rule : rules) CLOCHE_TRY(check_rule(spec, rule));
  return {};
}

bool rule_covers(std::string_view outer, std::string_view inner) {
  const bool any = is_any_name(outer);
  const auto wide = proto::parse_net_rule(any ? named_bound(outer) : std::string(outer));
  const auto narrow = proto::parse_net_rule(inner);
  if (!wide || !narrow) return false;
  if (narrow->ports().first < wide->ports().first || narrow->ports().last > wide->ports().last) return false;
  using proto::HostName;
  using proto::IpRange;
  using Below = proto::NetRule::Below;
  if (any) return narrow->is_for_names();
  if (const auto* name = std::get_if<HostName>(&narrow->host())) return wide->matches(*name);
  if (const auto* below = std::get_if<Below>(&narrow->host())) {
    const auto* parent = std::get_if<Below>(&wide->host());
    return parent != nullptr && (below->parent == parent->parent || below->parent.is_below(parent->parent));
  }
  const auto* range = std::get_if<IpRange>(&narrow->host());
  const auto* around = std::get_if<IpRange>(&wide->host());
  return range != nullptr && around != nullptr && range->prefix() >= around->prefix() &&
         around->contains(range->first());
}

bool pattern_covers_path(std::string_view outer, std::string_view inner) {
  const auto wide = parts_of(clean_path(outer));
  const auto narrow = parts_of(clean_path(inner));
  return wide.size() == narrow.size() && covers_names(wide, narrow);
}

bool socket_bound_covers(std::string_view outer, std::string_view inner) {
  const auto wide = parts_of(clean_path(outer));
  const auto narrow = parts_of(clean_path(inner));
  return wide.size() <= narrow.size() && covers_names(wide, narrow);
}

std::string_view place_key(SecretGrant::Place place) {
  constexpr std::array<std::string_view, 3> kKeys{"header", "query", "basic"};
  return kKeys.at(static_cast<std::size_t>(place));
}

std::string_view source_key(SecretGrant::Source source) {
  constexpr std::array<std::string_view, 3> kKeys{"value_file", "value_env", "value_command"};
  return kKeys.at(static_cast<std::size_t>(source));
}

}  // namespace cloche
