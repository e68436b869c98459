#include "learn/merge.h"

#include <algorithm>
#include <optional>
#include <ranges>

#include <fmt/format.h>

#include "learn/print.h"
#include "policy/key_value.h"
#include "policy/toml_document.h"

namespace cloche::learn {
namespace {

std::unexpected<Error> cannot(std::string_view file, std::string_view key) {
  return fail(ErrorCode::kInvalidInput, std::string(file),
              fmt::format("{} is written in a way that cannot be edited", key),
              "write it as a key of its table, or learn without --merge and copy what is missing");
}

// Columns count characters, and so many bytes each has.
std::optional<std::size_t> offset_of(std::string_view text, TextPosition position) {
  std::size_t at = 0;
  for (std::uint32_t line = 1; line < position.line; ++line) {
    at = text.find('\n', at);
    if (at == std::string_view::npos) return std::nullopt;
    ++at;
  }
  for (std::uint32_t column = 1; column < position.column && at < text.size(); ++column) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
  }
  return at < text.size() ? std::optional(at) : std::nullopt;
}

// Behind a string that begins at `at`.
std::size_t skip_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string_view three = quote == '"' ? "\"\"\"" : "'''";
  const std::string_view end = text.substr(at).starts_with(three) ? three : three.substr(0, 1);
  at += end.size();
  while (at < text.size() && !text.substr(at).starts_with(end)) at += quote == '"' && text[at] == '\\' ? 2 : 1;
  return std::min(at + end.size(), text.size());
}

std::size_t skip_comment(std::string_view text, std::size_t at) { return std::min(text.find('\n', at), text.size()); }

struct ArrayText {
  std::size_t last = 0;   // behind the last character that is neither space nor comment, before the bracket
  std::size_t close = 0;  // the bracket
};

// `at` is the opening bracket.
std::optional<ArrayText> scan_array(std::string_view text, std::size_t at) {
  if (text[at] != '[') return std::nullopt;
  ArrayText out{at + 1, 0};
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '#') {
      at = skip_comment(text, at);
      continue;
    }
    if (c == '"' || c == '\'') {
      at = skip_string(text, at);
      out.last = at;
      continue;
    }
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth == 0) {
      out.close = at;
      return out;
    }
    ++at;
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') out.last = at;
  }
  return std::nullopt;
}

// The end of a value that is no array: a string, a number, a word.
std::size_t scalar_end(std::string_view text, std::size_t at) {
  if (text[at] == '"' || text[at] == '\'') return skip_string(text, at);
  return std::min(text.find_first_of(" \t\r\n,#}]", at), text.size());
}

const TomlNode* child(const TomlNode& table, std::string_view key) {
  const auto found = std::ranges::find(table.children, key, &TomlNode::key);
  return found == table.children.end() ? nullptr : &*found;
}

const TomlNode* find_node(const TomlNode& root, std::string_view name) {
  const TomlNode* node = &root;
  while (node != nullptr && !name.empty()) {
    const std::size_t dot = std::min(name.find('.'), name.size());
    node = child(*node, name.substr(0, dot));
    name.remove_prefix(std::min(dot + 1, name.size()));
  }
  return node;
}

std::string comment_for(const std::vector<Item>& items, const std::string& text) {
  const std::string note = note_on(items, text);
  return note.empty() ? std::string() : "  # " + note;
}

// The items of a list as TOML, beside the text that notes are found by.
std::vector<std::pair<std::string, std::string>> elements(const Value& value) {
  std::vector<std::pair<std::string, std::string>> out;
  if (const auto* list = std::get_if<TextList>(&value)) {
    for (const std::string& text : *list) out.emplace_back(toml_string(text), text);
  }
  if (const auto* list = std::get_if<GrantList>(&value)) {
    for (const TimedText& grant : *list) {
      if (!grant.lasts) out.emplace_back(toml_string(grant.text), grant.text);
    }
  }
  return out;
}

void put_into_array(std::string& text, const ArrayText& array,
                    const std::vector<std::pair<std::string, std::string>>& fresh, const std::vector<Item>& items) {
  const char before = text[array.last - 1];
  const bool needs_comma = before != '[' && before != ',';
  const std::size_t line = text.rfind('\n', array.close) + 1;
  const bool own_line = text.find_first_not_of(" \t", line) == array.close && line != 0;
  std::string added;
  if (own_line) {
    for (const auto& [toml, plain] : fresh) added += fmt::format("  {},{}\n", toml, comment_for(items, plain));
    text.insert(line, added);
  } else {
    for (const auto& [toml, plain] : fresh) added += fmt::format("{}{}", added.empty() ? "" : ", ", toml);
    // A comment behind the last item would swallow what follows it on its line.
    text.insert(array.close, added);
    if (before == ',' && array.close == array.last) text.insert(array.close, " ");
  }
  if (needs_comma) text.insert(array.last, own_line ? "," : ", ");
}

bool is_rest_of_line(std::string_view text, std::size_t at) {
  const std::size_t next = text.find_first_not_of(" \t\r", at);
  return next == std::string_view::npos || text[next] == '\n' || text[next] == '#';
}

bool begins_line(std::string_view text, std::size_t at) {
  const std::size_t before = at == 0 ? std::string_view::npos : text.find_last_not_of(" \t", at - 1);
  return before == std::string_view::npos || text[before] == '\n';
}

// Of a line that has nothing else; with the comment behind it, which speaks of nothing else either.
void take_out_lines(std::string& text, std::size_t from, std::size_t to) {
  const std::size_t begin = from == 0 ? 0 : text.rfind('\n', from - 1) + 1;
  text.erase(begin, std::min(text.find('\n', to), text.size() - 1) + 1 - begin);
}

// Behind blanks, ends of lines and comments.
std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    if (text[at] == '#') {
      at = skip_comment(text, at);
    } else if (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r') {
      ++at;
    } else {
      break;
    }
  }
  return at;
}

// One item of a list, and the comma that it had.
void take_out_item(std::string& text, std::size_t from) {
  std::size_t to = scalar_end(text, from);
  const std::size_t comma = skip_space(text, to);
  const bool has_comma = comma < text.size() && text[comma] == ',';
  if (has_comma) to = comma + 1;
  if (begins_line(text, from) && is_rest_of_line(text, to)) return take_out_lines(text, from, to);
  if (has_comma) {
    to = std::min(text.find_first_not_of(" \t", to), text.size());
  } else {
    const std::size_t before = text.find_last_not_of(" \t\r\n", from - 1);
    if (text[before] == ',') from = before;
  }
  text.erase(from, to - from);
}

// False: it has no line of its own.
bool take_out_key(std::string& text, const TomlNode& node, std::size_t close) {
  const auto key = offset_of(text, node.key_position);
  if (!key || !is_rest_of_line(text, close + 1)) return false;
  // Of a dotted key this is the last part; a table in a line has its brace and its other keys there.
  const std::size_t line = *key == 0 ? 0 : text.rfind('\n', *key - 1) + 1;
  if (text.substr(line, *key - line).find_first_of("={,") != std::string::npos) return false;
  take_out_lines(text, *key, close + 1);
  return true;
}

// A line that opens the table; nothing: there is none.
std::optional<std::size_t> behind_header(std::string_view text, std::string_view section) {
  const std::string header = fmt::format("[{}]", section);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.starts_with(header)) {
      line.remove_prefix(header.size());
      const std::size_t rest = line.find_first_not_of(" \t\r");
      if (rest == std::string_view::npos || line[rest] == '#') return std::min(end + 1, text.size());
    }
    at = end + 1;
  }
  return std::nullopt;
}

std::string whole_value(const KeySpec& spec, const Value& value, const std::vector<Item>& items) {
  const auto all = elements(value);
  if (all.empty()) return to_toml_value(spec, value);
  std::string out = "[\n";
  for (const auto& [toml, plain] : all) out += fmt::format("  {},{}\n", toml, comment_for(items, plain));
  return out + "]";
}

void add_key(std::string& text, const TomlNode& root, const KeySpec& spec, const std::string& value) {
  const std::size_t dot = spec.name.rfind('.');
  if (!text.empty() && text.back() != '\n') text += '\n';
  if (dot == std::string_view::npos) {
    // Before the first table, or it would be the table's: behind one that is there already.
    const TomlNode* parent = child(root, "extends");
    const TomlNode* version = parent != nullptr ? parent : child(root, "version");
    const auto at = version == nullptr ? std::nullopt : offset_of(text, version->position);
    const std::size_t line = at ? std::min(text.find('\n', *at), text.size()) : 0;
    const std::string whole = fmt::format("{} = {}\n", spec.name, value);
    text.insert(at ? line + 1 : 0, whole);
    return;
  }
  const std::string_view section = spec.name.substr(0, dot);
  if (const auto at = behind_header(text, section)) {
    text.insert(*at, fmt::format("{} = {}\n", spec.name.substr(dot + 1), value));
    return;
  }
  const TomlNode* table = find_node(root, section);
  if (table != nullptr && !table->children.empty()) {
    // Only dotted keys make it up: one more of them, before the first.
    if (const auto at = offset_of(text, table->children.front().key_position)) {
      const std::size_t line = text.rfind('\n', *at) + 1;
      text.insert(*at == 0 ? 0 : line, fmt::format("{} = {}\n", spec.name, value));
      return;
    }
  }
  text += fmt::format("\n[{}]\n{} = {}\n", section, spec.name.substr(dot + 1), value);
}

}  // namespace

namespace {

using Elements = std::vector<std::pair<std::string, std::string>>;

Elements without(Elements list, const Elements& others) {
  std::erase_if(list, [&](const auto& element) { return std::ranges::find(others, element) != others.end(); });
  return list;
}

// The comment that an item has behind it on its line.
std::string comment_behind(std::string_view text, std::size_t at) {
  at = scalar_end(text, at);
  if (at < text.size() && text[at] == ',') ++at;
  at = std::min(text.find_first_not_of(" \t", at), text.size());
  if (at == text.size() || text[at] != '#') return {};
  return "  " + std::string(text.substr(at, text.find_first_of("\r\n", at) - at));
}

// The order of a list may say something: a guest begins in the first workspace. A list in another one is written anew.
std::string in_order(std::string_view text, const TomlNode& array, const Elements& all, const std::vector<Item>& items,
                     bool in_one_line) {
  if (in_one_line) {
    std::string out;
    for (const auto& element : all) out += (out.empty() ? "" : ", ") + element.first;
    return "[" + out + "]";
  }
  std::string out = "[\n";
  for (const auto& [toml, plain] : all) {
    const auto known = std::ranges::find(array.children, plain, &TomlNode::text);
    const auto at = known == array.children.end() ? std::nullopt : offset_of(text, known->position);
    out += fmt::format("  {},{}\n", toml, at ? comment_behind(text, *at) : comment_for(items, plain));
  }
  return out + "]";
}

// From the list as it was to the list as it is; false: it is written in a way that cannot be edited.
bool edit_array(std::string& text, const TomlNode& node, std::size_t at, const Elements& known, const Elements& all,
                const std::vector<Item>& items) {
  const Elements fresh = without(all, known);
  const Elements gone = without(known, all);
  const auto array = scan_array(text, at);
  if (!array) return false;
  Elements kept = without(known, gone);
  kept.insert(kept.end(), fresh.begin(), fresh.end());
  if (all.empty() && !gone.empty() && take_out_key(text, node, array->close)) return true;
  if (!all.empty() && kept != all) {
    const std::size_t size = array->close + 1 - at;
    const bool in_one_line = text.substr(at, size).find('\n') == std::string::npos;
    text.replace(at, size, in_order(text, node, all, items, in_one_line));
    return true;
  }
  std::vector<std::size_t> cuts;
  for (const TomlNode& element : node.children) {
    const auto place = offset_of(text, element.position);
    const bool goes = std::ranges::find(gone, element.text, &Elements::value_type::second) != gone.end();
    if (goes && place) cuts.push_back(*place);
  }
  if (cuts.size() < gone.size() || (cuts.empty() && fresh.empty())) return false;
  for (const std::size_t cut : cuts | std::views::reverse) take_out_item(text, cut);
  const auto rest = scan_array(text, at);
  if (rest && !fresh.empty()) put_into_array(text, *rest, fresh, items);
  return rest.has_value();
}

}  // namespace

Result<std::string> merge(std::string_view original, std::string_view file_name, const Policy& before,
                          const Policy& after, const std::vector<Item>& items) {
  std::string text(original);
  for (const Key key : changed_keys(before, after)) {
    const KeySpec& spec = spec_of(key);
    // Positions are those of the text as it has become.
    CLOCHE_TRY_ASSIGN(const TomlNode root, parse_toml(text, file_name));
    const Value value = *load(after, key);
    const TomlNode* node = find_node(root, spec.name);
    if (node == nullptr) {
      add_key(text, root, spec, whole_value(spec, value, items));
      continue;
    }
    const auto at = offset_of(text, node->position);
    if (!at) return cannot(file_name, spec.name);
    if (node->kind == TomlKind::kArray) {
      const auto old = load(before, key);
      const Elements known = old ? elements(*old) : Elements{};
      if (!edit_array(text, *node, *at, known, elements(value), items)) return cannot(file_name, spec.name);
    } else if (node->kind == TomlKind::kTable) {
      return cannot(file_name, spec.name);
    } else {
      text.replace(*at, scalar_end(text, *at) - *at, whole_value(spec, value, items));
    }
  }
  return text;
}

}  // namespace cloche::learn
