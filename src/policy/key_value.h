// One value of one key: validation and text by the table, and the only place where a key meets its field in Policy.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "policy/policy.h"
#include "policy/schema_table.h"

namespace cloche {

using TextList = std::vector<std::string>;
using TextMap = std::map<std::string, std::string>;
// A grant that may end before the run does.
struct TimedText {
  std::string text;
  Lasts lasts;
  bool operator==(const TimedText&) const = default;
};
using GrantList = std::vector<TimedText>;
using SecretList = std::vector<SecretGrant>;
using SocketRules = std::vector<SocketRule>;
// kFlag bool; kCount, kBytes, kDuration (ms), kVersion u64; kShare double; kWord, kPath, kParent string; the lists;
// kEnvMap map; kNetGrants, kSocketGrants, kSecrets and kSocketRules their own.
using Value =
    std::variant<bool, std::uint64_t, double, std::string, TextList, TextMap, GrantList, SecretList, SocketRules>;

// Errors of this file have no step: the caller knows where the value came from (see located).
Status check_value(const KeySpec& spec, const Value& value);
Status check_item(const KeySpec& spec, std::string_view item);                              // of a list
Status check_path(const KeySpec& spec, std::string_view path);                              // of the host
Status check_env_entry(const KeySpec& spec, std::string_view name, std::string_view text);  // of env.set
Result<Value> parse_scalar(const KeySpec& spec, std::string_view text);                     // flag or environment

// "give a whole number from 1 to 4194304": the hint of every error about this key.
std::string expectation(const KeySpec& spec);

// "limits.pids: what": an error about a key, with the key's expectation as the hint.
std::unexpected<Error> bad_value(const KeySpec& spec, std::string_view what);
std::unexpected<Error> located(std::string_view where, Error error);

void store(Policy& policy, Key key, const Value& value);   // a value that check_value accepted
std::optional<Value> load(const Policy& policy, Key key);  // nullopt: an absent optional limit, or no field
std::string to_toml_value(const KeySpec& spec, const Value& value);
std::string toml_string(std::string_view text);
// Names and values of the tables in a list of them; none for other values.
using TomlFields = std::vector<std::pair<std::string_view, std::string>>;
std::vector<TomlFields> toml_tables(const Value& value);

// Where a word stands in its list; ranks for the ceiling. The word is known to be valid.
std::size_t rank_of(const KeySpec& spec, std::string_view word);

// Components without "//", "/./" and the trailing "/": "/usr//lib/" and "/usr/lib" are the same grant.
std::string clean_path(std::string_view path);
// By component: "/data" covers "/data/x", not "/database". "/" covers "~", whatever the home is.
bool path_covers(std::string_view prefix, std::string_view path);

}  // namespace cloche
