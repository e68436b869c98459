// store, load and their TOML text: where each key of the table meets its field in Policy.
#include <fmt/format.h>

#include <algorithm>

#include "base/glyph.h"
#include "base/utf8.h"
#include "policy/key_value.h"
#include "policy/way_out.h"

namespace cloche {
namespace {

template <typename Enum>
Enum word_to(Key key, const Value& value) {
  return static_cast<Enum>(rank_of(spec_of(key), std::get<std::string>(value)));
}

Millis to_millis(const Value& value) { return Millis(static_cast<Millis::rep>(std::get<std::uint64_t>(value))); }

Value from_millis(Millis value) {
  // A negative duration set from C++ must reach the range check as "not a limit", not as a huge number.
  return value.count() < 0 ? std::uint64_t{0} : static_cast<std::uint64_t>(value.count());
}

TextList clean_paths(const Value& value) {
  TextList out;
  for (const std::string& path : std::get<TextList>(value)) out.push_back(clean_path(path));
  return out;
}

// Relative ones stay what they are until the caller's directory is known.
TextList clean_places(const Value& value) {
  TextList out;
  for (const std::string& path : std::get<TextList>(value))
    out.push_back(path.starts_with('.') ? path : clean_path(path));
  return out;
}

template <typename Enum>
Value from_word(Enum word) {
  return std::string(to_string(word));
}

std::optional<Value> from_optional(const std::optional<Millis>& value) {
  if (!value) return std::nullopt;
  return from_millis(*value);
}

template <typename Enum>
TextList words_of(const std::vector<Enum>& list) {
  TextList out;
  for (const Enum word : list) out.emplace_back(to_string(word));
  return out;
}

std::optional<Value> from_optional(const std::optional<Bytes>& value) {
  if (!value) return std::nullopt;
  return value->count;
}

std::optional<Value> from_optional(const std::optional<std::uint64_t>& value) {
  if (!value) return std::nullopt;
  return *value;
}

GrantList from_grants(const std::vector<NetGrant>& grants) {
  GrantList out;
  for (const NetGrant& grant : grants) out.push_back({grant.rule, grant.lasts});
  return out;
}

GrantList from_grants(const std::vector<SocketGrant>& grants) {
  GrantList out;
  for (const SocketGrant& grant : grants) out.push_back({grant.path, grant.lasts});
  return out;
}

std::vector<NetGrant> to_net_grants(const Value& value) {
  std::vector<NetGrant> out;
  for (const TimedText& grant : std::get<GrantList>(value)) out.push_back({grant.text, grant.lasts});
  return out;
}

std::vector<SocketGrant> to_socket_grants(const Value& value) {
  std::vector<SocketGrant> out;
  for (const TimedText& grant : std::get<GrantList>(value)) out.push_back({clean_path(grant.text), grant.lasts});
  return out;
}

std::vector<SocketRule> to_socket_rules(const Value& value) {
  std::vector<SocketRule> out = std::get<SocketRules>(value);
  for (SocketRule& rule : out) rule.path = clean_path(rule.path);
  return out;
}

// Of values that are TOML already.
std::string toml_items(const TextList& list) {
  constexpr std::size_t kMaxLine = 80;
  std::string line = "[";
  for (const std::string& item : list) {
    line += (line.size() > 1 ? ", " : "") + item;
    if (line.size() > kMaxLine && list.size() > 1) break;
  }
  if (line.size() <= kMaxLine || list.size() == 1) return line + "]";
  std::string out = "[\n";
  for (const std::string& item : list) out += "  " + item + ",\n";
  return out + "]";
}

std::string toml_list(const TextList& list) {
  TextList items;
  for (const std::string& item : list) items.push_back(toml_string(item));
  return toml_items(items);
}

std::string toml_grants(const GrantList& list, std::string_view key) {
  TextList items;
  for (const TimedText& grant : list) {
    items.push_back(grant.lasts ? fmt::format("{{ {} = {}, for = {} }}", key, toml_string(grant.text),
                                              toml_string(to_text(*grant.lasts)))
                                : toml_string(grant.text));
  }
  return toml_items(items);
}

std::string toml_map(const TextMap& map) {
  if (map.empty()) return "{}";
  std::string out = "{ ";
  for (const auto& [name, text] : map) {
    if (out.size() > 2) out += ", ";
    out += toml_string(name) + " = " + toml_string(text);
  }
  return out + " }";
}

std::string inline_tables(const std::vector<TomlFields>& tables) {
  TextList items;
  for (const TomlFields& table : tables) {
    std::string item;
    for (const auto& [name, value] : table) item += fmt::format("{} {} = {}", item.empty() ? "{" : ",", name, value);
    items.push_back(item + " }");
  }
  return toml_items(items);
}

TomlFields fields_of(const SecretGrant& secret) {
  TomlFields out{{"name", toml_string(secret.name)}, {"hosts", toml_list(secret.hosts)}};
  out.emplace_back(place_key(secret.place),
                   secret.place == SecretGrant::Place::kBasic ? "true" : toml_string(secret.field));
  out.emplace_back(source_key(secret.source), toml_string(secret.from));
  if (secret.lasts) out.emplace_back("for", toml_string(to_text(*secret.lasts)));
  return out;
}

TomlFields fields_of(const SocketRule& rule) {
  TomlFields out{{"path", toml_string(rule.path)}, {"methods", toml_list(rule.methods)}};
  if (!rule.context.empty()) out.emplace_back("context", toml_map(rule.context));
  return out;
}

}  // namespace

std::vector<TomlFields> toml_tables(const Value& value) {
  std::vector<TomlFields> out;
  if (const auto* secrets = std::get_if<SecretList>(&value)) {
    for (const SecretGrant& secret : *secrets) out.push_back(fields_of(secret));
  } else if (const auto* rules = std::get_if<SocketRules>(&value)) {
    for (const SocketRule& rule : *rules) out.push_back(fields_of(rule));
  }
  return out;
}

void store(Policy& policy, Key key, const Value& value) {
  switch (key) {
    case Key::kVersion:
    case Key::kExtends:
      return;
    case Key::kTier:
      policy.tier = word_to<Tier>(key, value);
      return;
    case Key::kBackend:
      policy.backend = word_to<BackendChoice>(key, value);
      return;
    case Key::kObserve:
      policy.observe = word_to<Observe>(key, value);
      return;
    case Key::kTrust:
      policy.trust = word_to<Trust>(key, value);
      return;
    case Key::kCwd:
      policy.cwd = clean_path(std::get<std::string>(value));
      return;
    case Key::kDevelopment:
      policy.development = std::get<bool>(value);
      return;
    case Key::kRootInCell:
      policy.root_in_cell = std::get<bool>(value);
      return;
    case Key::kWeaken:
      policy.weaken.clear();
      for (const std::string& word : std::get<TextList>(value)) {
        policy.weaken.push_back(static_cast<Weakening>(rank_of(spec_of(key), word)));
      }
      return;
    case Key::kLimitsMode:
      policy.limits.mode = word_to<LimitsMode>(key, value);
      return;
    case Key::kLimitsWall:
      policy.limits.wall = to_millis(value);
      return;
    case Key::kLimitsGrace:
      policy.limits.grace = to_millis(value);
      return;
    case Key::kLimitsCpuTime:
      policy.limits.cpu_time = to_millis(value);
      return;
    case Key::kLimitsCpus:
      policy.limits.cpus = std::get<double>(value);
      return;
    case Key::kLimitsMemory:
      policy.limits.memory = Bytes{std::get<std::uint64_t>(value)};
      return;
    case Key::kLimitsPids:
      policy.limits.pids = std::get<std::uint64_t>(value);
      return;
    case Key::kLimitsFiles:
      policy.limits.files = std::get<std::uint64_t>(value);
      return;
    case Key::kLimitsOutput:
      policy.limits.output = Bytes{std::get<std::uint64_t>(value)};
      return;
    case Key::kLimitsDisk:
      policy.limits.disk = Bytes{std::get<std::uint64_t>(value)};
      return;
    case Key::kLimitsInodes:
      policy.limits.inodes = std::get<std::uint64_t>(value);
      return;
    case Key::kFilesRead:
      policy.files.read = clean_paths(value);
      return;
    case Key::kFilesWrite:
      policy.files.write = clean_paths(value);
      return;
    case Key::kFilesExec:
      policy.files.exec = clean_paths(value);
      return;
    case Key::kFilesExecWritable:
      policy.files.exec_writable = std::get<bool>(value);
      return;
    case Key::kWorkspacePath:
      policy.workspace.path = clean_places(value);
      return;
    case Key::kWorkspaceMode:
      policy.workspace.mode = word_to<WorkspaceMode>(key, value);
      return;
    case Key::kWorkspaceScratch:
      policy.workspace.scratch = word_to<WorkspaceScratch>(key, value);
      return;
    case Key::kWorkspaceKeep:
      policy.workspace.keep.clear();
      for (const std::string& word : std::get<TextList>(value)) {
        policy.workspace.keep.push_back(static_cast<Kept>(rank_of(spec_of(key), word)));
      }
      return;
    case Key::kEnvPass:
      policy.env.pass = std::get<TextList>(value);
      return;
    case Key::kEnvSet:
      policy.env.set = std::get<TextMap>(value);
      return;
    case Key::kNetMode:
      policy.net = word_to<NetMode>(key, value);
      return;
    case Key::kSecrets:
      policy.secrets = std::get<SecretList>(value);
      return;
    case Key::kNetLoopback:
      policy.loopback = std::get<bool>(value);
      return;
    case Key::kNetAllow:
      policy.net_allow = to_net_grants(value);
      return;
    case Key::kNetDeny:
      policy.net_deny = std::get<TextList>(value);
      return;
    case Key::kNetLimitsBytesIn:
      policy.net_limits.bytes_in = Bytes{std::get<std::uint64_t>(value)};
      return;
    case Key::kNetLimitsBytesOut:
      policy.net_limits.bytes_out = Bytes{std::get<std::uint64_t>(value)};
      return;
    case Key::kNetLimitsConnections:
      policy.net_limits.connections = std::get<std::uint64_t>(value);
      return;
    case Key::kNetLimitsRate:
      policy.net_limits.rate = Bytes{std::get<std::uint64_t>(value)};
      return;
    case Key::kSocketsAllow:
      policy.sockets = to_socket_grants(value);
      return;
    case Key::kSocketsRules:
      policy.socket_rules = to_socket_rules(value);
      return;
  }
}

std::optional<Value> load(const Policy& policy, Key key) {
  switch (key) {
    case Key::kVersion:
      return std::uint64_t{1};
    case Key::kExtends:
      return std::nullopt;
    case Key::kTier:
      return from_word(policy.tier);
    case Key::kBackend:
      return from_word(policy.backend);
    case Key::kTrust:
      return from_word(policy.trust);
    case Key::kObserve:
      return from_word(policy.observe);
    case Key::kCwd:
      return policy.cwd;
    case Key::kDevelopment:
      return policy.development;
    case Key::kRootInCell:
      return policy.root_in_cell;
    case Key::kWeaken:
      return words_of(policy.weaken);
    case Key::kLimitsMode:
      return from_word(policy.limits.mode);
    case Key::kLimitsWall:
      return from_optional(policy.limits.wall);
    case Key::kLimitsGrace:
      return from_millis(policy.limits.grace);
    case Key::kLimitsCpuTime:
      return from_optional(policy.limits.cpu_time);
    case Key::kLimitsCpus:
      return policy.limits.cpus;
    case Key::kLimitsMemory:
      return policy.limits.memory.count;
    case Key::kLimitsPids:
      return policy.limits.pids;
    case Key::kLimitsFiles:
      return policy.limits.files;
    case Key::kLimitsOutput:
      return policy.limits.output.count;
    case Key::kLimitsDisk:
      return policy.limits.disk.count;
    case Key::kLimitsInodes:
      return policy.limits.inodes;
    case Key::kFilesRead:
      return policy.files.read;
    case Key::kFilesWrite:
      return policy.files.write;
    case Key::kFilesExec:
      return policy.files.exec;
    case Key::kFilesExecWritable:
      return policy.files.exec_writable;
    case Key::kWorkspacePath:
      return policy.workspace.path;
    case Key::kWorkspaceMode:
      return from_word(policy.workspace.mode);
    case Key::kWorkspaceScratch:
      return from_word(policy.workspace.scratch);
    case Key::kWorkspaceKeep:
      return words_of(policy.workspace.keep);
    case Key::kEnvPass:
      return policy.env.pass;
    case Key::kEnvSet:
      return policy.env.set;
    case Key::kNetMode:
      return from_word(policy.net);
    case Key::kSecrets:
      return policy.secrets;
    case Key::kNetLoopback:
      return policy.loopback;
    case Key::kNetAllow:
      return from_grants(policy.net_allow);
    case Key::kNetDeny:
      return policy.net_deny;
    case Key::kNetLimitsBytesIn:
      return from_optional(policy.net_limits.bytes_in);
    case Key::kNetLimitsBytesOut:
      return from_optional(policy.net_limits.bytes_out);
    case Key::kNetLimitsConnections:
      return from_optional(policy.net_limits.connections);
    case Key::kNetLimitsRate:
      return from_optional(policy.net_limits.rate);
    case Key::kSocketsAllow:
      return from_grants(policy.sockets);
    case Key::kSocketsRules:
      return policy.socket_rules;
  }
  return std::nullopt;
}

// A name that reads other than it is, or that a terminal obeys, must not hide in a policy that somebody is to judge.
std::string toml_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(c.length, 1));
    text.remove_prefix(bytes.size());
    if (c.length != 0 && unsafe_to_show(c.code)) {
      out += toml_escape(c.code);
      continue;
    }
    if (bytes == "\"" || bytes == "\\") out += '\\';
    out += bytes;
  }
  return out + "\"";
}

std::string to_toml_value(const KeySpec& spec, const Value& value) {
  switch (spec.type) {
    case KeyType::kBytes:
      return toml_string(to_text(Bytes{std::get<std::uint64_t>(value)}));
    case KeyType::kDuration:
      return toml_string(to_text(to_millis(value)));
    case KeyType::kVersion:
    case KeyType::kCount:
      return fmt::format("{}", std::get<std::uint64_t>(value));
    case KeyType::kShare:
      return fmt::format("{}", std::get<double>(value));
    case KeyType::kFlag:
      return std::get<bool>(value) ? "true" : "false";
    case KeyType::kWordList:
    case KeyType::kPathList:
    case KeyType::kPlaceList:
    case KeyType::kEnvNames:
    case KeyType::kNetRules:
    case KeyType::kNetBounds:
    case KeyType::kSources:
      return toml_list(std::get<TextList>(value));
    case KeyType::kNetGrants:
      return toml_grants(std::get<GrantList>(value), "host");
    case KeyType::kSocketGrants:
      return toml_grants(std::get<GrantList>(value), "path");
    case KeyType::kSecrets:
    case KeyType::kSocketRules:
      return inline_tables(toml_tables(value));
    case KeyType::kEnvMap:
      return toml_map(std::get<TextMap>(value));
    case KeyType::kWord:
    case KeyType::kPath:
    case KeyType::kParent:
      return toml_string(std::get<std::string>(value));
  }
  return {};
}

}  // namespace cloche
