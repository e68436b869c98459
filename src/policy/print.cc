#include "policy/print.h"

#include <fmt/format.h>

#include "policy/key_value.h"

namespace cloche {
namespace {

bool is_list_of_tables(KeyType type) { return type == KeyType::kSecrets || type == KeyType::kSocketRules; }

}  // namespace

std::string to_toml(const Policy& policy) {
  std::string out;
  std::string tables;  // behind everything else: a key after one of them would be the table's
  std::string_view section;
  for (const KeySpec& spec : key_table()) {
    const std::optional<Value> value = load(policy, spec.key);
    if (!value) continue;
    if (is_list_of_tables(spec.type)) {
      for (const TomlFields& table : toml_tables(*value)) {
        tables += fmt::format("\n[[{}]]\n", spec.name);
        for (const auto& [name, text] : table) tables += fmt::format("{} = {}\n", name, text);
      }
      continue;
    }
    const std::size_t dot = spec.name.rfind('.');
    std::string_view key = spec.name;
    if (dot != std::string_view::npos) {
      key = spec.name.substr(dot + 1);
      if (section != spec.name.substr(0, dot)) {
        section = spec.name.substr(0, dot);
        out.append("\n[").append(section).append("]\n");
      }
    }
    out.append(key).append(" = ").append(to_toml_value(spec, *value)).append("\n");
  }
  return out + tables;
}

}  // namespace cloche
