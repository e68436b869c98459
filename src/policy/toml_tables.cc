#include "policy/toml_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "policy/text.h"
#include "policy/toml_keys.h"
#include "policy/way_out.h"

namespace cloche {
namespace {

using Words = std::span<const std::string_view>;

constexpr auto kSecretFields = std::to_array<std::string_view>(
    {"name", "hosts", "header", "query", "basic", "value_file", "value_env", "value_command", "for"});
constexpr auto kRuleFields = std::to_array<std::string_view>({"path", "methods", "context"});

// One table of a list. The first mistake is told with its place.
class Fields {
 public:
  static Result<Fields> open(const KeySpec& spec, const TomlNode& table, std::string_view file_name, Words known) {
    if (table.kind != TomlKind::kTable) return wrong_type(spec, table, file_name, "a table");
    for (const TomlNode& child : table.children) {
      if (std::ranges::find(known, child.key) != known.end()) continue;
      return fail(ErrorCode::kInvalidInput, place(file_name, child.key_position),
                  fmt::format("{}: unknown key {}", spec.name, shown_text(child.key)),
                  fmt::format("the nearest known key is \"{}\"", nearest_word(child.key, known)));
    }
    return Fields(spec, table, file_name);
  }

  const TomlNode* find(std::string_view name) const {
    const auto found = std::ranges::find(table_->children, name, &TomlNode::key);
    return found == table_->children.end() ? nullptr : &*found;
  }

  Result<const TomlNode*> need(std::string_view name) const {
    if (const TomlNode* node = find(name)) return node;
    return wrong(fmt::format("{} is missing", name));
  }

  Result<std::string> text(std::string_view name) const {
    CLOCHE_TRY_ASSIGN(const TomlNode* node, need(name));
    if (node->kind != TomlKind::kText) return wrong_type(*spec_, *node, file_name_, "a string");
    return node->text;
  }

  Result<TextList> texts(std::string_view name) const {
    CLOCHE_TRY_ASSIGN(const TomlNode* node, need(name));
    if (node->kind != TomlKind::kArray) return wrong_type(*spec_, *node, file_name_, "a list of strings");
    TextList out;
    for (const TomlNode& item : node->children) {
      if (item.kind != TomlKind::kText) return wrong_type(*spec_, item, file_name_, "a string");
      out.push_back(item.text);
    }
    return out;
  }

  Result<TextMap> map(std::string_view name) const {
    TextMap out;
    const TomlNode* node = find(name);
    if (node == nullptr) return out;
    if (node->kind != TomlKind::kTable) return wrong_type(*spec_, *node, file_name_, "a table of names and texts");
    for (const TomlNode& item : node->children) {
      if (item.kind != TomlKind::kText) return wrong_type(*spec_, item, file_name_, "a string");
      out.emplace(item.key, item.text);
    }
    return out;
  }

  Result<Lasts> lasts() const {
    const TomlNode* node = find("for");
    if (node == nullptr) return Lasts{};
    if (node->kind != TomlKind::kText) return wrong_type(*spec_, *node, file_name_, "a text with a unit");
    const auto duration = parse_duration(node->text);
    if (!duration) {
      return fail(ErrorCode::kInvalidInput, place(file_name_, node->position),
                  fmt::format("{}: for: {}", spec_->name, duration.error().message), "write for = \"10m\"");
    }
    return Lasts{*duration};
  }

  // Exactly one of them.
  Result<std::string_view> one_of(Words names, std::string_view what) const {
    std::string_view found;
    for (const std::string_view name : names) {
      if (find(name) == nullptr) continue;
      if (!found.empty()) return wrong(fmt::format("both {} and {} say {}", found, name, what));
      found = name;
    }
    if (found.empty()) return wrong(fmt::format("nothing says {}", what));
    return found;
  }

  std::unexpected<Error> wrong(std::string_view what) const {
    Error error = bad_value(*spec_, what).error();
    return located(place(file_name_, table_->position), std::move(error));
  }
  Status at_its_place(Status status) const {
    if (status) return {};
    return located(place(file_name_, table_->position), std::move(status.error()));
  }

 private:
  Fields(const KeySpec& spec, const TomlNode& table, std::string_view file_name)
      : spec_(&spec), table_(&table), file_name_(file_name) {}

  const KeySpec* spec_;
  const TomlNode* table_;
  std::string_view file_name_;
};

Status read_place(const Fields& fields, SecretGrant& out) {
  constexpr auto kPlaces = std::to_array<std::string_view>({"header", "query", "basic"});
  CLOCHE_TRY_ASSIGN(const std::string_view key, fields.one_of(kPlaces, "where the secret goes"));
  out.place = static_cast<SecretGrant::Place>(std::ranges::find(kPlaces, key) - kPlaces.begin());
  if (out.place != SecretGrant::Place::kBasic) {
    CLOCHE_TRY_ASSIGN(out.field, fields.text(key));
    return {};
  }
  const TomlNode* flag = fields.find("basic");
  if (flag->kind == TomlKind::kFlag && flag->flag) return {};
  return fields.wrong("basic is a word of its own: write basic = true, or leave it out");
}

Result<SecretGrant> read_secret(const KeySpec& spec, const TomlNode& item, std::string_view file_name) {
  constexpr auto kSources = std::to_array<std::string_view>({"value_file", "value_env", "value_command"});
  CLOCHE_TRY_ASSIGN(const Fields fields, Fields::open(spec, item, file_name, kSecretFields));
  SecretGrant out;
  CLOCHE_TRY_ASSIGN(out.name, fields.text("name"));
  CLOCHE_TRY_ASSIGN(out.hosts, fields.texts("hosts"));
  CLOCHE_TRY(read_place(fields, out));
  CLOCHE_TRY_ASSIGN(const std::string_view source, fields.one_of(kSources, "where the value comes from"));
  out.source = static_cast<SecretGrant::Source>(std::ranges::find(kSources, source) - kSources.begin());
  CLOCHE_TRY_ASSIGN(out.from, fields.text(source));
  CLOCHE_TRY_ASSIGN(out.lasts, fields.lasts());
  CLOCHE_TRY(fields.at_its_place(check_secrets(spec, {out})));
  return out;
}

Result<SocketRule> read_socket_rule(const KeySpec& spec, const TomlNode& item, std::string_view file_name) {
  CLOCHE_TRY_ASSIGN(const Fields fields, Fields::open(spec, item, file_name, kRuleFields));
  SocketRule out;
  CLOCHE_TRY_ASSIGN(out.path, fields.text("path"));
  CLOCHE_TRY_ASSIGN(out.methods, fields.texts("methods"));
  CLOCHE_TRY_ASSIGN(out.context, fields.map("context"));
  CLOCHE_TRY(fields.at_its_place(check_socket_rules(spec, {out})));
  return out;
}

Result<TimedText> read_grant(const KeySpec& spec, const TomlNode& item, std::string_view file_name) {
  TimedText out;
  if (item.kind == TomlKind::kText) {
    out.text = item.text;
  } else {
    const std::string_view own = spec.type == KeyType::kNetGrants ? "host" : "path";
    const std::array<std::string_view, 2> known{own, "for"};
    if (item.kind != TomlKind::kTable) {
      return wrong_type(spec, item, file_name, fmt::format("a string, or a table of {} and for", own));
    }
    CLOCHE_TRY_ASSIGN(const Fields fields, Fields::open(spec, item, file_name, known));
    CLOCHE_TRY_ASSIGN(out.text, fields.text(own));
    CLOCHE_TRY_ASSIGN(out.lasts, fields.lasts());
  }
  if (auto status = check_grants(spec, {out}); !status) {
    return located(place(file_name, item.position), std::move(status.error()));
  }
  return out;
}

template <typename T, typename Read>
Result<Value> read_all(const KeySpec& spec, const TomlNode& node, std::string_view file_name, Read read) {
  if (node.kind != TomlKind::kArray) return wrong_type(spec, node, file_name, "a list");
  std::vector<T> out;
  for (const TomlNode& item : node.children) {
    CLOCHE_TRY_ASSIGN(T one, read(spec, item, file_name));
    out.push_back(std::move(one));
    if (out.size() > kMaxListItems) break;
  }
  return Value(std::move(out));
}

}  // namespace

Result<Value> read_grants(const KeySpec& spec, const TomlNode& node, std::string_view file_name) {
  return read_all<TimedText>(spec, node, file_name, read_grant);
}

Result<Value> read_secrets(const KeySpec& spec, const TomlNode& node, std::string_view file_name) {
  return read_all<SecretGrant>(spec, node, file_name, read_secret);
}

Result<Value> read_socket_rules(const KeySpec& spec, const TomlNode& node, std::string_view file_name) {
  return read_all<SocketRule>(spec, node, file_name, read_socket_rule);
}

std::string item_text(const TomlNode& item) {
  if (item.kind != TomlKind::kTable) return item.text;
  for (const TomlNode& child : item.children) {
    if (child.key == "host" || child.key == "path" || child.key == "name") return child.text;
  }
  return {};
}

}  // namespace cloche
