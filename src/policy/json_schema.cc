#include "policy/json_schema.h"

#include <fmt/format.h>

#include "policy/key_value.h"
#include "policy/way_out.h"

namespace cloche {
namespace {

// The same escapes serve TOML and JSON: quote, backslash and \u00XX.
std::string json_string(std::string_view text) { return toml_string(text); }

std::string json_words(std::span<const std::string_view> words) {
  std::string out = "[";
  for (std::size_t i = 0; i < words.size(); ++i) out += (i > 0 ? ", " : "") + json_string(words[i]);
  return out + "]";
}

std::string text_list(const std::string& item) {
  return fmt::format("\"type\": \"array\", \"maxItems\": {}, \"items\": {{{}}}", kMaxListItems, item);
}

constexpr const char* kRule =
    "\"type\": \"string\", \"pattern\": \"^([^:/]+|[0-9.]+/[0-9]+|[[].+[]]):[0-9]+(-[0-9]+)?$\"";
constexpr const char* kLease = "\"type\": \"string\", \"pattern\": \"^[0-9]+([.][0-9]+)?(ms|s|m|h)$\"";

std::string host_path() {
  return fmt::format("\"type\": \"string\", \"pattern\": \"^(/|~/)\", \"maxLength\": {}", kMaxPathBytes);
}

// The item itself, or a table of it and its time.
std::string leased(std::string_view key, std::string_view item) {
  return fmt::format(
      "\"oneOf\": [{{{1}}}, {{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"{0}\"], "
      "\"properties\": {{\"{0}\": {{{1}}}, \"for\": {{{2}}}}}}}]",
      key, item, kLease);
}

std::string table_list(std::size_t most, const std::string& fields) {
  return fmt::format(
      "\"type\": \"array\", \"maxItems\": {}, \"items\": {{\"type\": \"object\", \"additionalProperties\": false, "
      "{}}}",
      most, fields);
}

std::string secret_fields() {
  return fmt::format(
      "\"required\": [\"name\", \"hosts\"], \"properties\": {{"
      "\"name\": {{\"type\": \"string\", \"pattern\": \"^[A-Za-z_][A-Za-z0-9_]*$\"}}, "
      "\"hosts\": {{\"type\": \"array\", \"minItems\": 1, \"items\": {{{}}}}}, "
      "\"header\": {{\"type\": \"string\"}}, \"query\": {{\"type\": \"string\"}}, \"basic\": {{\"const\": true}}, "
      "\"value_file\": {{{}}}, \"value_env\": {{\"type\": \"string\"}}, \"value_command\": {{\"type\": \"string\"}}, "
      "\"for\": {{{}}}}}, "
      "\"allOf\": [{{\"oneOf\": [{{\"required\": [\"header\"]}}, {{\"required\": [\"query\"]}}, "
      "{{\"required\": [\"basic\"]}}]}}, {{\"oneOf\": [{{\"required\": [\"value_file\"]}}, "
      "{{\"required\": [\"value_env\"]}}, {{\"required\": [\"value_command\"]}}]}}]",
      kRule, host_path(), kLease);
}

std::string socket_rule_fields() {
  return fmt::format(
      "\"required\": [\"path\", \"methods\"], \"properties\": {{\"path\": {{{}}}, "
      "\"methods\": {{\"type\": \"array\", \"maxItems\": {}, \"items\": {{\"type\": \"string\"}}}}, "
      "\"context\": {{\"type\": \"object\", \"maxProperties\": {}, \"additionalProperties\": {{\"type\": "
      "\"string\"}}}}}}",
      host_path(), kMaxMethods, kMaxContext);
}

std::string type_of(const KeySpec& spec) {
  switch (spec.type) {
    case KeyType::kVersion:
      return "\"type\": \"integer\", \"const\": 1";
    case KeyType::kParent:
      return fmt::format("\"type\": \"string\", \"minLength\": 1, \"maxLength\": {}", kMaxPathBytes);
    case KeyType::kWord:
      return "\"type\": \"string\", \"enum\": " + json_words(spec.words);
    case KeyType::kWordList:
      return text_list("\"enum\": " + json_words(spec.words)) + ", \"uniqueItems\": true";
    case KeyType::kFlag:
      return "\"type\": \"boolean\"";
    case KeyType::kPath:
      return fmt::format("\"type\": \"string\", \"pattern\": \"^/\", \"maxLength\": {}", kMaxPathBytes);
    case KeyType::kPathList:
      return text_list(
          fmt::format("\"type\": \"string\", \"pattern\": \"^(/|~/|~$)\", \"maxLength\": {}", kMaxPathBytes));
    case KeyType::kPlaceList: {
      const std::string place =
          fmt::format("\"type\": \"string\", \"pattern\": \"^(/|~/|~$|[.]/|[.]$)\", \"maxLength\": {}", kMaxPathBytes);
      return fmt::format("\"oneOf\": [{{{}}}, {{{}}}]", place, text_list(place));
    }
    case KeyType::kCount:
      return fmt::format("\"type\": \"integer\", \"minimum\": {}, \"maximum\": {}", spec.min, spec.max);
    case KeyType::kShare:
      return fmt::format("\"type\": \"number\", \"minimum\": {}, \"maximum\": {}", static_cast<double>(spec.min) / 100,
                         static_cast<double>(spec.max) / 100);
    case KeyType::kBytes:
      return "\"type\": \"string\", \"pattern\": \"^[0-9]+([.][0-9]+)?(B|[KMGT](iB)?)?$\"";
    case KeyType::kDuration:
      return "\"type\": \"string\", \"pattern\": \"^[0-9]+([.][0-9]+)?(ms|s|m|h)$\"";
    case KeyType::kEnvNames:
      return text_list(fmt::format("\"type\": \"string\", \"pattern\": \"^[!-)+-<>-~]+(_[*])?$\", \"maxLength\": {}",
                                   kMaxEnvNameBytes + 1));
    case KeyType::kEnvMap:
      return fmt::format(
          "\"type\": \"object\", \"maxProperties\": {}, \"propertyNames\": {{\"pattern\": "
          "\"^[!-)+-<>-~]+$\", \"maxLength\": {}}}, \"additionalProperties\": {{\"type\": \"string\", "
          "\"maxLength\": {}}}",
          kMaxListItems, kMaxEnvNameBytes, kMaxEnvValueBytes);
    case KeyType::kNetRules:
      return text_list(kRule);
    case KeyType::kNetGrants:
      return text_list(leased("host", kRule));
    case KeyType::kSocketGrants:
      return text_list(leased("path", host_path()));
    case KeyType::kSecrets:
      return table_list(kMaxSecrets, secret_fields());
    case KeyType::kSocketRules:
      return table_list(kMaxSocketRules, socket_rule_fields());
    case KeyType::kNetBounds:
    case KeyType::kSources:
      break;  // of ceilings, which have no schema
  }
  return {};
}

std::string property(const KeySpec& spec, std::string_view key) {
  std::string out = fmt::format("{}: {{{}, \"description\": {}", json_string(key), type_of(spec),
                                json_string(std::string(spec.description) + "; " + expectation(spec)));
  // An inline table of TOML is not JSON; every other example is.
  const bool tables = spec.type == KeyType::kSecrets || spec.type == KeyType::kSocketRules;
  if (spec.type != KeyType::kEnvMap && !tables) out += fmt::format(", \"examples\": [{}]", spec.example);
  return out + "}";
}

// The keys whose names begin with the prefix, and the sections among them.
std::string properties(const std::string& prefix, std::size_t indent) {
  const std::string margin(indent, ' ');
  std::string out;
  std::string_view section;  // the keys of one stand together
  for (const KeySpec& spec : key_table()) {
    if (!spec.name.starts_with(prefix)) continue;
    const std::string_view rest = spec.name.substr(prefix.size());
    const std::size_t dot = rest.find('.');
    const std::string_view first = rest.substr(0, dot);
    if (dot != std::string_view::npos && first == section) continue;
    out += (out.empty() ? "" : ",\n") + margin;
    if (dot == std::string_view::npos) {
      out += property(spec, rest);
      continue;
    }
    section = first;
    out += fmt::format("{}: {{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {{\n{}\n{}}}}}",
                       json_string(section), properties(prefix + std::string(section) + ".", indent + 2), margin);
  }
  return out;
}

}  // namespace

std::string policy_json_schema() {
  const std::string top = properties("", 4);
  return fmt::format(
      "{{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
      "  \"$id\": \"urn:cloche:policy:1\",\n  \"title\": \"Cloche policy, version 1\",\n  \"type\": \"object\",\n"
      "  \"additionalProperties\": false,\n  \"required\": [\"version\"],\n  \"properties\": {{\n{}\n  }}\n}}\n",
      top);
}

}  // namespace cloche
