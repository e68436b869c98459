// What one entry of net, sockets and secrets may say, by itself. check.h judges them together.
#pragma once

#include <string_view>

#include "policy/key_value.h"

namespace cloche {

inline constexpr std::size_t kMaxSecrets = 64;
inline constexpr std::size_t kMaxSocketRules = 64;
inline constexpr std::size_t kMaxMethods = 256;
inline constexpr std::size_t kMaxContext = 32;
inline constexpr Millis kMaxLease{720LL * 60 * 60 * 1000};

// Errors have no step, as those of key_value.h.
Status check_net_rule(const KeySpec& spec, std::string_view rule);
Status check_net_bound(const KeySpec& spec, std::string_view rule);
Status check_source(const KeySpec& spec, std::string_view source);
Status check_grants(const KeySpec& spec, const GrantList& grants);
Status check_secrets(const KeySpec& spec, const SecretList& secrets);
Status check_socket_rules(const KeySpec& spec, const SocketRules& rules);
Status check_lasts(const KeySpec& spec, const Lasts& lasts);

// "API_TOKEN": what a shell takes for a variable's name.
bool is_variable_name(std::string_view name);

// Whether everything that the inner rule allows is allowed by the outer one; both are known to parse. The outer one may
// be a bound of a ceiling.
bool rule_covers(std::string_view outer, std::string_view inner);
// Name by name: "/run/*/a" covers "/run/x/a" and "/run/x*/a".
bool pattern_covers_path(std::string_view outer, std::string_view inner);
// The same, or a directory above it.
bool socket_bound_covers(std::string_view outer, std::string_view inner);

std::string_view place_key(SecretGrant::Place place);     // "header", "query", "basic"
std::string_view source_key(SecretGrant::Source source);  // "value_file", "value_env", "value_command"

}  // namespace cloche
