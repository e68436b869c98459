#include "policy/print.h"

#include "policy/key_value.h"

namespace cloche {

std::string to_toml(const Policy& policy) {
  std::string out;
  std::string_view section;
  for (const KeySpec& spec : key_table()) {
    const std::optional<Value> value = load(policy, spec.key);
    if (!value) continue;
    const std::size_t dot = spec.name.find('.');
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
  return out;
}

}  // namespace cloche
