#include "policy/toml_keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "policy/text.h"
#include "policy/toml_tables.h"

namespace cloche {
namespace {

std::unexpected<Error> unknown_key(const std::string& name, const TomlNode& node, std::string_view file_name) {
  if (node.kind == TomlKind::kTable && name.find('.') == std::string::npos) {
    const auto sections = section_names();
    return fail(ErrorCode::kInvalidInput, place(file_name, node.key_position),
                fmt::format("unknown table [{}]", shown_text(name)),
                fmt::format("the nearest known table is [{}]", nearest_word(name, sections)));
  }
  return fail(ErrorCode::kInvalidInput, place(file_name, node.key_position),
              fmt::format("unknown key {}", shown_text(name)),
              fmt::format("the nearest known key is \"{}\"", nearest_key(name).name));
}

// The first key in a table of that name that would fit above all tables; empty if there is none.
std::string known_key_in(const std::string& name, const TomlNode& node) {
  if (find_key(name) != nullptr) return name;
  for (const TomlNode& child : node.children) {
    if (node.kind != TomlKind::kTable) break;
    if (std::string whole = known_key_in(name + "." + child.key, child); !whole.empty()) return whole;
  }
  return {};
}

// "files.read" below [limits] is limits.files.read. What a key that fits above all tables would be; empty for others.
std::string misplaced_key(const std::string& name, const TomlNode& node) {
  const bool quoted = node.key.find('.') != std::string::npos;  // a name of its own
  return name == node.key || quoted ? "" : known_key_in(node.key, node);
}

const TomlNode* child_of(const TomlNode& table, std::string_view key) {
  const auto found = std::ranges::find(table.children, key, &TomlNode::key);
  return found == table.children.end() ? nullptr : &*found;
}

// A table that dotted keys alone make begins where its name does. Any other takes no dotted key from elsewhere.
bool is_opened(const TomlNode& node) { return node.kind == TomlKind::kTable && node.position != node.key_position; }

// How to write a key where it fits: in its table, if the file has that one, and in its list.
std::string where_it_fits(const TomlNode& root, const std::string& key) {
  const TomlNode* at = &root;
  std::string table;
  std::string rest = key;
  for (std::size_t from = 0, dot = 0; (dot = key.find('.', from)) != std::string::npos; from = dot + 1) {
    at = child_of(*at, std::string_view(key).substr(from, dot - from));
    if (at == nullptr) break;
    if (!is_opened(*at)) continue;
    table = key.substr(0, dot);
    rest = key.substr(dot + 1);
  }
  if (table.empty()) return "move it above the first [table] of the file";
  const TomlNode* same = at == nullptr ? nullptr : child_of(*at, key.substr(key.rfind('.') + 1));
  const bool is_list = same != nullptr && same->kind == TomlKind::kArray;
  return is_list ? fmt::format("add to the list {} in [{}]", rest, table)
                 : fmt::format("write {} = ... in [{}]", rest, table);
}

std::unexpected<Error> below_a_table(const TomlNode& root, const std::string& name, const std::string& key,
                                     const TomlNode& node, std::string_view file_name) {
  const std::string table = name.substr(0, name.size() - node.key.size() - 1);
  return fail(ErrorCode::kInvalidInput, place(file_name, node.key_position),
              fmt::format("{} stands below [{}] and belongs to that table", key, table), where_it_fits(root, key));
}

struct Candidate {
  std::string name;
  const TomlNode* node;
};

// Everything that is not a section, sections opened: known keys, unknown keys and misused sections alike.
void collect(const TomlNode& table, const std::string& prefix, std::vector<Candidate>& out) {
  for (const TomlNode& child : table.children) {
    std::string name = prefix + child.key;
    // A quoted key may hold a dot; "limits.pids" in quotes is not limits.pids.
    const bool plain = child.key.find('.') == std::string::npos;
    if (plain && child.kind == TomlKind::kTable && is_section(name)) {
      collect(child, name + ".", out);
    } else {
      out.push_back({plain ? std::move(name) : prefix + shown_text(child.key), &child});
    }
  }
}

Result<Value> read_whole(const KeySpec& spec, const TomlNode& node, std::string_view file_name) {
  if (node.kind != TomlKind::kInteger) return wrong_type(spec, node, file_name, "a whole number");
  if (node.integer < 0) {
    Error error = bad_value(spec, fmt::format("{} is not a limit", node.integer)).error();
    return located(place(file_name, node.position), std::move(error));
  }
  return Value(static_cast<std::uint64_t>(node.integer));
}

// A grant of a file with a time: somebody relies on its end.
std::unexpected<Error> no_lease(const KeySpec& spec, const TomlNode& item, std::string_view file_name) {
  return fail(
      ErrorCode::kInvalidInput, place(file_name, item.position),
      fmt::format("{}: a file that is open cannot be taken back, so this grant cannot end before the run", spec.name),
      "write the path alone");
}

Result<Value> read_list(const KeySpec& spec, const TomlNode& node, std::string_view file_name) {
  if (spec.type == KeyType::kPlaceList && node.kind == TomlKind::kText) return Value(TextList{node.text});
  if (node.kind != TomlKind::kArray) return wrong_type(spec, node, file_name, "a list of strings");
  TextList list;
  for (const TomlNode& item : node.children) {
    if (item.kind == TomlKind::kTable && spec.type == KeyType::kPathList) return no_lease(spec, item, file_name);
    if (item.kind != TomlKind::kText) return wrong_type(spec, item, file_name, "a string");
    if (auto status = check_item(spec, item.text); !status) {
      return located(place(file_name, item.position), std::move(status.error()));
    }
    list.push_back(item.text);
    if (list.size() > kMaxListItems) break;
  }
  return Value(std::move(list));
}

Result<Value> read_map(const KeySpec& spec, const TomlNode& node, std::string_view file_name) {
  if (node.kind != TomlKind::kTable) return wrong_type(spec, node, file_name, "a table of names and texts");
  TextMap map;
  for (const TomlNode& item : node.children) {
    if (item.kind != TomlKind::kText) return wrong_type(spec, item, file_name, "a string");
    if (auto status = check_env_entry(spec, item.key, item.text); !status) {
      return located(place(file_name, item.key_position), std::move(status.error()));
    }
    map.emplace(item.key, item.text);
  }
  return Value(std::move(map));
}

Result<Value> read_unchecked(const KeySpec& spec, const TomlNode& node, std::string_view file_name) {
  switch (spec.type) {
    case KeyType::kVersion:
    case KeyType::kCount:
      return read_whole(spec, node, file_name);
    case KeyType::kShare:
      if (node.kind == TomlKind::kInteger) return Value(static_cast<double>(node.integer));
      if (node.kind != TomlKind::kFloat) return wrong_type(spec, node, file_name, "a number");
      return Value(node.real);
    case KeyType::kFlag:
      if (node.kind != TomlKind::kFlag) return wrong_type(spec, node, file_name, "true or false");
      return Value(node.flag);
    case KeyType::kBytes:
    case KeyType::kDuration: {
      // A bare number is refused for sizes, too: in a file that outlives its author the unit must be readable.
      if (node.kind != TomlKind::kText) return wrong_type(spec, node, file_name, "a text with a unit");
      auto value = parse_scalar(spec, node.text);
      if (!value) return located(place(file_name, node.position), std::move(value.error()));
      return value;
    }
    case KeyType::kWord:
    case KeyType::kPath:
    case KeyType::kParent:
      if (node.kind != TomlKind::kText) return wrong_type(spec, node, file_name, "a string");
      return Value(node.text);
    case KeyType::kWordList:
    case KeyType::kPathList:
    case KeyType::kPlaceList:
    case KeyType::kEnvNames:
    case KeyType::kNetRules:
    case KeyType::kNetBounds:
    case KeyType::kSources:
      return read_list(spec, node, file_name);
    case KeyType::kNetGrants:
    case KeyType::kSocketGrants:
      return read_grants(spec, node, file_name);
    case KeyType::kSecrets:
      return read_secrets(spec, node, file_name);
    case KeyType::kSocketRules:
      return read_socket_rules(spec, node, file_name);
    case KeyType::kEnvMap:
      return read_map(spec, node, file_name);
  }
  return wrong_type(spec, node, file_name, "a value of this key");
}

}  // namespace

std::unexpected<Error> wrong_type(const KeySpec& spec, const TomlNode& node, std::string_view file_name,
                                  std::string_view wanted) {
  Error error = bad_value(spec, fmt::format("{} is not {}", to_string(node.kind), wanted)).error();
  return located(place(file_name, node.position), std::move(error));
}

Result<std::vector<FoundKey>> find_keys(const TomlNode& root, std::string_view file_name) {
  std::vector<Candidate> candidates;
  collect(root, "", candidates);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.node->key_position < b.node->key_position; });
  std::vector<FoundKey> out;
  for (const Candidate& candidate : candidates) {
    const KeySpec* spec = find_key(candidate.name);
    const bool takes_tables =
        spec != nullptr && (spec->type == KeyType::kEnvMap || candidate.node->kind != TomlKind::kTable);
    const std::string misplaced = takes_tables ? "" : misplaced_key(candidate.name, *candidate.node);
    if (!misplaced.empty()) return below_a_table(root, candidate.name, misplaced, *candidate.node, file_name);
    if (spec != nullptr) {
      out.push_back({spec, candidate.node});
    } else if (is_section(candidate.name)) {
      return fail(ErrorCode::kInvalidInput, place(file_name, candidate.node->key_position),
                  fmt::format("{} is a table of keys, not {}", candidate.name, to_string(candidate.node->kind)),
                  fmt::format("open it with [{}]", candidate.name));
    } else {
      return unknown_key(candidate.name, *candidate.node, file_name);
    }
  }
  return out;
}

Status require_version(const std::vector<FoundKey>& keys, std::string_view file_name) {
  for (const FoundKey& found : keys) {
    if (found.spec->key != Key::kVersion) continue;
    CLOCHE_TRY(read_value(*found.spec, *found.node, file_name));
    return {};
  }
  return fail(ErrorCode::kInvalidInput, place(file_name, {1, 1}), "version: it is missing",
              "begin the file with version = 1");
}

Result<Value> read_value(const KeySpec& spec, const TomlNode& node, std::string_view file_name) {
  CLOCHE_TRY_ASSIGN(Value value, read_unchecked(spec, node, file_name));
  if (auto status = check_value(spec, value); !status) {
    return located(place(file_name, node.position), std::move(status.error()));
  }
  return value;
}

}  // namespace cloche
