#include "policy/json_schema.h"

#include <fmt/format.h>

#include "policy/key_value.h"

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
  }
  return {};
}

std::string property(const KeySpec& spec, std::string_view key) {
  std::string out = fmt::format("{}: {{{}, \"description\": {}", json_string(key), type_of(spec),
                                json_string(std::string(spec.description) + "; " + expectation(spec)));
  // An inline table of TOML is not JSON; every other example is.
  if (spec.type != KeyType::kEnvMap) out += fmt::format(", \"examples\": [{}]", spec.example);
  return out + "}";
}

}  // namespace

std::string policy_json_schema() {
  std::string top;
  std::string section_text;
  std::string_view section;
  const auto close_section = [&] {
    if (section.empty()) return;
    top += fmt::format(
        ",\n    {}: {{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {{\n{}\n    }}}}",
        json_string(section), section_text);
    section_text.clear();
  };
  for (const KeySpec& spec : key_table()) {
    const std::size_t dot = spec.name.find('.');
    if (dot == std::string_view::npos) {
      top += (top.empty() ? "    " : ",\n    ") + property(spec, spec.name);
      continue;
    }
    if (section != spec.name.substr(0, dot)) {
      close_section();
      section = spec.name.substr(0, dot);
    }
    section_text += (section_text.empty() ? "      " : ",\n      ") + property(spec, spec.name.substr(dot + 1));
  }
  close_section();
  return fmt::format(
      "{{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
      "  \"$id\": \"urn:cloche:policy:1\",\n  \"title\": \"Cloche policy, version 1\",\n  \"type\": \"object\",\n"
      "  \"additionalProperties\": false,\n  \"required\": [\"version\"],\n  \"properties\": {{\n{}\n  }}\n}}\n",
      top);
}

}  // namespace cloche
