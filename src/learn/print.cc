#include "learn/print.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "learn/collect.h"
#include "policy/key_value.h"

namespace cloche::learn {
namespace {

// Whatever stands in a comment was a file's name or a word of a command: it must not end its line.
std::string comment(std::string_view text) {
  std::string out = "# ";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::string list_text(const TextList& list, const std::vector<Item>& items) {
  if (list.empty()) return "[]";
  std::string out = "[\n";
  for (const std::string& text : list) {
    const std::string note = note_on(items, text);
    out += fmt::format("  {},{}\n", toml_string(text), note.empty() ? std::string() : "  " + comment(note));
  }
  return out + "]";
}

std::string value_text(const KeySpec& spec, const Value& value, const std::vector<Item>& items) {
  if (const auto* list = std::get_if<TextList>(&value)) return list_text(*list, items);
  return to_toml_value(spec, value);
}

std::string preface(const Learnt& learnt) {
  std::string out = comment("Learnt from: " + learnt.command) + "\n";
  for (const std::string& note : learnt.notes) out += comment(note) + "\n";
  if (!learnt.untried.empty()) {
    out += comment("Wider than needed, perhaps: these were not left out to see whether it does without.") + "\n";
    for (const Item& item : learnt.untried) {
      out += comment(fmt::format("  {} {}", to_string(item.kind), harmless(item.what))) + "\n";
    }
  }
  if (!learnt.wanted.empty()) out += comment("Wanted, and not granted:") + "\n";
  for (const Wanted& wanted : learnt.wanted) out += comment(fmt::format("  {}: {}", wanted.what, wanted.reason)) + "\n";
  return out;
}

}  // namespace

std::string note_on(const std::vector<Item>& items, const std::string& text) {
  for (const Item& item : items) {
    if ((item.what == text || item.direct == text) && !item.note.empty()) return item.note;
    // One file was changed, perhaps; but a file that is replaced needs its directory.
    if (item.kind == Kind::kChange && item.directory && item.what == text) {
      return "the whole directory: all that lies in it can be read and changed";
    }
  }
  return {};
}

std::vector<Key> changed_keys(const Policy& parent, const Policy& policy) {
  std::vector<Key> out;
  for (const KeySpec& spec : key_table()) {
    const auto value = load(policy, spec.key);
    if (value && value != load(parent, spec.key)) out.push_back(spec.key);
  }
  return out;
}

std::string to_text(const Learnt& learnt) {
  std::string out = preface(learnt);
  out += fmt::format("version = 1\nextends = {}\n", toml_string(learnt.extends));
  std::string tables;
  std::string_view section;
  for (const Key key : changed_keys(learnt.parent, learnt.policy)) {
    const KeySpec& spec = spec_of(key);
    const Value value = *load(learnt.policy, key);
    if (spec.type == KeyType::kSecrets || spec.type == KeyType::kSocketRules) {
      for (const TomlFields& table : toml_tables(value)) {
        tables += fmt::format("\n[[{}]]\n", spec.name);
        for (const auto& [name, text] : table) tables += fmt::format("{} = {}\n", name, text);
      }
      continue;
    }
    const std::size_t dot = spec.name.rfind('.');
    const std::string_view own = dot == std::string_view::npos ? std::string_view() : spec.name.substr(0, dot);
    if (own != section) out += fmt::format("\n[{}]\n", own);
    section = own;
    const std::string_view name = dot == std::string_view::npos ? spec.name : spec.name.substr(dot + 1);
    out += fmt::format("{} = {}\n", name, value_text(spec, value, learnt.items));
  }
  return out + tables;
}

}  // namespace cloche::learn
