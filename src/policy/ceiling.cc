#include "policy/ceiling.h"

#include <fmt/format.h>

#include <algorithm>

#include "policy/env_names.h"
#include "policy/toml_keys.h"
#include "policy/way_out.h"

namespace cloche {
namespace {

// In a ceiling, backend is the list of those that may be used; grants are what they must lie under.
KeySpec ceiling_spec(const KeySpec& spec) {
  KeySpec out = spec;
  if (spec.ceiling == CeilingRule::kAllowed && spec.type == KeyType::kWord) {
    out.type = KeyType::kWordList;
    out.example = "[\"native\", \"bwrap\"]";
  }
  if (spec.key == Key::kNetAllow) out.type = KeyType::kNetBounds;
  if (spec.key == Key::kSocketsAllow) out.type = KeyType::kPathList;
  if (spec.key == Key::kSecrets) out.type = KeyType::kSources;
  return out;
}

std::optional<Value> bound_of(const Ceiling& ceiling, Key key) {
  for (const Bound& bound : ceiling.bounds) {
    if (bound.key == key) return bound.value;
  }
  switch (key) {
    case Key::kFilesWrite:
    case Key::kFilesExec:
    case Key::kWorkspacePath:
      // What may be executed or written can be read, and so can a workspace, whatever becomes of its changes: a ceiling
      // over reading holds for all of them.
      return bound_of(ceiling, Key::kFilesRead);
    case Key::kWorkspaceKeep:
      return TextList{};
    case Key::kDevelopment:
      return false;
    case Key::kBackend:
      return TextList{"auto", "native", "bwrap"};
    case Key::kNetMode:
      return std::string("none");
    case Key::kNetAllow:
    case Key::kSocketsAllow:
      // A way out that was made after the ceiling was written must not open behind the operator's back.
      return TextList{};
    default:
      return std::nullopt;
  }
}

// One line: a message is one sentence.
std::string shown(const KeySpec& spec, const Value& value) {
  const auto* list = std::get_if<TextList>(&value);
  if (list == nullptr) return to_toml_value(spec, value);
  constexpr std::size_t kMaxShown = 8;
  std::string out = "[";
  for (std::size_t i = 0; i < list->size() && i < kMaxShown; ++i) out += (i > 0 ? ", " : "") + shown_text((*list)[i]);
  if (list->size() > kMaxShown) out += ", ...";
  return out + "]";
}

std::unexpected<Error> refuse(const KeySpec& spec, const Ceiling& ceiling, std::string_view asked,
                              std::string_view allowed) {
  return fail(
      ErrorCode::kRefused, "ceiling",
      fmt::format("{}: the policy asks for {} and {} allows {}", spec.name, asked, shown_text(ceiling.name), allowed),
      fmt::format("change {} in the policy, or ask the operator to change the ceiling", spec.name));
}

bool exceeds(const KeySpec& spec, const Value& asked, const Value& most) {
  if (const auto* word = std::get_if<std::string>(&asked)) {
    return rank_of(spec, *word) > rank_of(spec, std::get<std::string>(most));
  }
  if (const auto* share = std::get_if<double>(&asked)) return !(*share <= std::get<double>(most));  // NaN exceeds
  if (const auto* flag = std::get_if<bool>(&asked)) return *flag && !std::get<bool>(most);
  return std::get<std::uint64_t>(asked) > std::get<std::uint64_t>(most);
}

Status enforce_most(const KeySpec& spec, const Ceiling& ceiling, const std::optional<Value>& asked, const Value& most) {
  if (!asked) {
    return fail(ErrorCode::kRefused, "ceiling",
                fmt::format("{}: the policy sets none and {} allows at most {}", spec.name, shown_text(ceiling.name),
                            shown(spec, most)),
                fmt::format("write {} in the policy, at most {}", spec.name, shown(spec, most)));
  }
  if (!exceeds(spec, *asked, most)) return {};
  return refuse(spec, ceiling, shown(spec, *asked), "at most " + shown(spec, most));
}

Status enforce_least(const KeySpec& spec, const Ceiling& ceiling, const Value& asked, const Value& least) {
  if (!exceeds(spec, least, asked)) return {};
  return refuse(spec, ceiling, shown(spec, asked), "no less than " + shown(spec, least));
}

bool contains(const TextList& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

Status enforce_allowed(const KeySpec& spec, const Ceiling& ceiling, const Value& asked, const TextList& allowed) {
  TextList words;
  if (const auto* one = std::get_if<std::string>(&asked)) {
    words.push_back(*one);
  } else {
    words = std::get<TextList>(asked);
  }
  for (const std::string& word : words) {
    if (contains(allowed, word)) continue;
    // "auto" may become any backend that contains, so it passes only where each of them does.
    if (spec.key == Key::kBackend && word == "auto" && contains(allowed, "native") && contains(allowed, "bwrap"))
      continue;
    return refuse(spec, ceiling, shown_text(word), "only " + shown(spec, allowed));
  }
  return {};
}

bool pattern_covers(const std::string& allowed, const std::string& asked) {
  if (allowed == asked) return true;
  return allowed.ends_with('*') && matches_env_pattern(allowed, asked);
}

Status enforce_items(const KeySpec& spec, const Ceiling& ceiling, const TextList& asked, const TextList& allowed) {
  for (const std::string& item : asked) {
    const bool covered = std::any_of(allowed.begin(), allowed.end(), [&](const std::string& outer) {
      return spec.ceiling == CeilingRule::kPrefixes ? path_covers(outer, item) : pattern_covers(outer, item);
    });
    if (covered) continue;
    const std::string_view words = spec.ceiling == CeilingRule::kPrefixes ? "only what lies under " : "only ";
    return refuse(spec, ceiling, shown_text(item), std::string(words) + shown(spec, allowed));
  }
  return {};
}

template <typename Covers>
Status enforce_grants(const KeySpec& spec, const Ceiling& ceiling, const GrantList& asked, const TextList& allowed,
                      Covers covers) {
  for (const TimedText& grant : asked) {
    const auto covered = [&](const std::string& outer) { return covers(outer, grant.text); };
    if (std::ranges::any_of(allowed, covered)) continue;
    return refuse(spec, ceiling, shown_text(grant.text), "only what lies under " + shown(ceiling_spec(spec), allowed));
  }
  return {};
}

// Where the ceiling does not name sources, a value comes from where the guest itself could have had it: a file that may
// be read, a variable that may be passed. A command runs outside of every cell and must be allowed by name.
bool source_allowed(const SecretGrant& secret, const Ceiling& ceiling) {
  const std::optional<Value> named = bound_of(ceiling, Key::kSecrets);
  const auto any_of = [](const std::optional<Value>& bound, const auto& covers) {
    return !bound || std::ranges::any_of(std::get<TextList>(*bound), covers);
  };
  switch (secret.source) {
    case SecretGrant::Source::kFile:
      if (!named) {
        return any_of(bound_of(ceiling, Key::kFilesRead),
                      [&](const std::string& outer) { return path_covers(outer, secret.from); });
      }
      return any_of(named, [&](const std::string& source) {
        return source.starts_with("file:") && path_covers(source.substr(5), secret.from);
      });
    case SecretGrant::Source::kEnv:
      if (!named) {
        return any_of(bound_of(ceiling, Key::kEnvPass),
                      [&](const std::string& outer) { return matches_env_pattern(outer, secret.from); });
      }
      return any_of(named, [&](const std::string& source) {
        return source.starts_with("env:") && matches_env_pattern(source.substr(4), secret.from);
      });
    case SecretGrant::Source::kCommand:
      return named && contains(std::get<TextList>(*named), "command");
  }
  return false;
}

Status enforce_sources(const KeySpec& spec, const Ceiling& ceiling, const SecretList& asked) {
  for (const SecretGrant& secret : asked) {
    if (source_allowed(secret, ceiling)) continue;
    return fail(
        ErrorCode::kRefused, "ceiling",
        fmt::format("{}: the policy takes {} from {} {}, which {} does not allow", spec.name, shown_text(secret.name),
                    source_key(secret.source), shown_text(secret.from), shown_text(ceiling.name)),
        "take the value from elsewhere, or ask the operator to name the source in the ceiling's secrets");
  }
  return {};
}

// A bound on traffic says nothing to a policy that has none.
bool without_traffic(Key key, const Policy& policy) {
  const bool traffic = key >= Key::kNetLimitsBytesIn && key <= Key::kNetLimitsRate;
  return traffic && !policy.needs_gateway();
}

Status enforce_key(const KeySpec& spec, const Policy& policy, const Ceiling& ceiling) {
  const std::optional<Value> asked = load(policy, spec.key);
  if (spec.ceiling == CeilingRule::kSources) return enforce_sources(spec, ceiling, std::get<SecretList>(*asked));
  const std::optional<Value> bound = bound_of(ceiling, spec.key);
  if (!bound || without_traffic(spec.key, policy)) return {};
  switch (spec.ceiling) {
    case CeilingRule::kNone:
    case CeilingRule::kSources:
      break;
    case CeilingRule::kNetRules:
      return enforce_grants(spec, ceiling, std::get<GrantList>(*asked), std::get<TextList>(*bound), rule_covers);
    case CeilingRule::kSockets:
      return enforce_grants(spec, ceiling, std::get<GrantList>(*asked), std::get<TextList>(*bound),
                            socket_bound_covers);
    case CeilingRule::kMost:
      return enforce_most(spec, ceiling, asked, *bound);
    case CeilingRule::kLeast:
      return enforce_least(spec, ceiling, *asked, *bound);
    case CeilingRule::kAllowed:
      return enforce_allowed(spec, ceiling, *asked, std::get<TextList>(*bound));
    case CeilingRule::kPrefixes:
    case CeilingRule::kPatterns:
      return enforce_items(spec, ceiling, std::get<TextList>(*asked), std::get<TextList>(*bound));
  }
  return {};
}

}  // namespace

Result<Ceiling> parse_ceiling(std::string_view text, std::string_view file_name) {
  CLOCHE_TRY_ASSIGN(const TomlNode root, parse_toml(text, file_name));
  CLOCHE_TRY_ASSIGN(const std::vector<FoundKey> keys, find_keys(root, file_name));
  CLOCHE_TRY(require_version(keys, file_name));
  Ceiling out;
  out.name = file_name;
  for (const FoundKey& found : keys) {
    if (found.spec->key == Key::kVersion) continue;
    if (found.spec->ceiling == CeilingRule::kNone) {
      return fail(ErrorCode::kInvalidInput, place(file_name, found.node->key_position),
                  fmt::format("{}: a ceiling cannot bound it", found.spec->name), "remove it");
    }
    CLOCHE_TRY_ASSIGN(Value value, read_value(ceiling_spec(*found.spec), *found.node, file_name));
    out.bounds.push_back({found.spec->key, std::move(value)});
  }
  return out;
}

Status enforce(const Policy& policy, const Ceiling& ceiling) {
  for (const KeySpec& spec : key_table()) CLOCHE_TRY(enforce_key(spec, policy, ceiling));
  return {};
}

Status enforce_way_out(const Policy& policy, const Ceiling& ceiling) {
  for (const Key key : {Key::kNetAllow, Key::kSocketsAllow, Key::kSecrets}) {
    CLOCHE_TRY(enforce_key(spec_of(key), policy, ceiling));
  }
  return {};
}

}  // namespace cloche
