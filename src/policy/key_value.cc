#include "policy/key_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "policy/text.h"
#include "policy/way_out.h"

namespace cloche {
namespace {

std::string number_text(const KeySpec& spec, std::uint64_t number) {
  switch (spec.type) {
    case KeyType::kBytes:
      return to_text(Bytes{number});
    case KeyType::kDuration:
      return to_text(Millis(static_cast<Millis::rep>(number)));
    default:
      return fmt::format("{}", number);
  }
}

Status check_number(const KeySpec& spec, std::uint64_t number) {
  if (number == 0) return bad_value(spec, fmt::format("{} is not a limit", number_text(spec, 0)));
  if (number < spec.min) return bad_value(spec, fmt::format("{} is too small", number_text(spec, number)));
  if (number > spec.max) return bad_value(spec, fmt::format("{} is too large", number_text(spec, number)));
  return {};
}

Status check_share(const KeySpec& spec, double share) {
  const double min = static_cast<double>(spec.min) / 100;
  const double max = static_cast<double>(spec.max) / 100;
  // Written so that NaN, which compares false with everything, is refused and not let through.
  if (share >= min && share <= max) return {};
  if (share > max) return bad_value(spec, fmt::format("{} is too large", share));
  if (share > 0) return bad_value(spec, fmt::format("{} is too small", share));
  return bad_value(spec, fmt::format("{} is not a limit", share));
}

Status check_word(const KeySpec& spec, std::string_view word) {
  if (std::find(spec.words.begin(), spec.words.end(), word) != spec.words.end()) return {};
  if (spec.key == Key::kNetMode && word == "loopback") {
    return fail(ErrorCode::kInvalidInput, {}, "net.mode: \"loopback\" is a key of its own",
                "write net.loopback = true, and leave net.mode out");
  }
  Error error{ErrorCode::kInvalidInput,
              {},
              0,
              fmt::format("{}: {} is not known", spec.name, shown_text(word)),
              fmt::format("the nearest is \"{}\"; {}", nearest_word(word, spec.words), expectation(spec))};
  return std::unexpected(std::move(error));
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; });
}

}  // namespace

Status check_path(const KeySpec& spec, std::string_view path) {
  const bool home = path == "~" || path.starts_with("~/");
  if (path.size() > kMaxPathBytes) return bad_value(spec, fmt::format("a path of {} bytes is too long", path.size()));
  if (has_control(path) || !is_utf8(path)) {
    return bad_value(spec, fmt::format("{} has control characters or is not UTF-8", shown_text(path)));
  }
  if (spec.type == KeyType::kPath && home)
    return bad_value(spec, fmt::format("{} is a path of the host", shown_text(path)));
  const bool here = spec.type == KeyType::kPlaceList && (path == "." || path.starts_with("./"));
  if (!path.starts_with('/') && !home && !here)
    return bad_value(spec, fmt::format("{} is not an absolute path", shown_text(path)));
  // A grant that climbs names another directory than it shows; a reviewer and the ceiling must see the real one.
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (path.substr(at, end - at) == "..")
      return bad_value(spec, fmt::format("{} climbs with \"..\"", shown_text(path)));
    at = end + 1;
  }
  return {};
}

namespace {

bool is_env_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxEnvNameBytes &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > 0x20 && c < 0x7f && c != '=' && c != '*'; });
}

Status check_env_pattern(const KeySpec& spec, std::string_view pattern) {
  if (!pattern.ends_with('*')) {
    if (is_env_name(pattern)) return {};
    return bad_value(spec, fmt::format("{} is not a variable's name", shown_text(pattern)));
  }
  const std::string_view prefix = pattern.substr(0, pattern.size() - 1);
  if (prefix.size() >= 2 && prefix.ends_with('_') && is_env_name(prefix)) return {};
  return bad_value(spec, fmt::format("{} passes too much", shown_text(pattern)));
}

Status check_parent(const KeySpec& spec, std::string_view parent) {
  if (!parent.empty() && parent.size() <= kMaxPathBytes && !has_control(parent) && is_utf8(parent)) return {};
  return bad_value(spec, fmt::format("{} is neither a preset nor a path", shown_text(parent)));
}

Status check_list(const KeySpec& spec, const TextList& list) {
  if (list.size() > kMaxListItems) {
    return bad_value(spec, fmt::format("{} entries are more than {}", list.size(), kMaxListItems));
  }
  for (const std::string& item : list) CLOCHE_TRY(check_item(spec, item));
  if (spec.type != KeyType::kWordList) return {};
  for (auto it = list.begin(); it != list.end(); ++it) {
    if (std::find(list.begin(), it, *it) != it)
      return bad_value(spec, fmt::format("{} is there twice", shown_text(*it)));
  }
  return {};
}

Result<Value> parse_count(const KeySpec& spec, std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end != text.data() + text.size() || code == std::errc::invalid_argument) {
    return bad_value(spec, fmt::format("{} is not a whole number", shown_text(text)));
  }
  if (code != std::errc{}) return bad_value(spec, fmt::format("{} is too large", shown_text(text)));
  return Value(number);
}

Result<Value> parse_share(const KeySpec& spec, std::string_view text) {
  double share = 0;
  // from_chars alone would take "inf", "nan" and "1e9".
  const bool plain = !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), share, std::chars_format::fixed);
  if (!plain || end != text.data() + text.size() || code == std::errc::invalid_argument) {
    return bad_value(spec, fmt::format("{} is not a number", shown_text(text)));
  }
  if (code != std::errc{}) return bad_value(spec, fmt::format("{} is out of range", shown_text(text)));
  return Value(share);
}

Result<Value> parse_unchecked(const KeySpec& spec, std::string_view text) {
  switch (spec.type) {
    case KeyType::kCount:
      return parse_count(spec, text);
    case KeyType::kShare:
      return parse_share(spec, text);
    case KeyType::kBytes: {
      const auto bytes = parse_bytes(text);
      if (!bytes) return bad_value(spec, bytes.error().message);
      return Value(bytes->count);
    }
    case KeyType::kDuration: {
      const auto duration = parse_duration(text);
      if (!duration) return bad_value(spec, duration.error().message);
      return Value(static_cast<std::uint64_t>(duration->count()));
    }
    case KeyType::kFlag:
      if (text == "true" || text == "false") return Value(text == "true");
      return bad_value(spec, fmt::format("{} is not a truth value", shown_text(text)));
    case KeyType::kWord:
    case KeyType::kPath:
      return Value(std::string(text));
    default:
      return bad_value(spec, "it cannot be given as one text");
  }
}

}  // namespace

std::unexpected<Error> bad_value(const KeySpec& spec, std::string_view what) {
  return fail(ErrorCode::kInvalidInput, {}, fmt::format("{}: {}", spec.name, what), expectation(spec));
}

std::unexpected<Error> located(std::string_view where, Error error) {
  error.step = where;
  return std::unexpected(std::move(error));
}

std::string expectation(const KeySpec& spec) {
  const std::string example(spec.example);
  switch (spec.type) {
    case KeyType::kVersion:
      return "write version = 1";
    case KeyType::kParent:
      return "name a preset, or a path ending in .toml";
    case KeyType::kWord:
      return "choose " + join_quoted(spec.words);
    case KeyType::kWordList:
      return "list any of " + join_quoted(spec.words) + ", each once";
    case KeyType::kFlag:
      return "write true or false";
    case KeyType::kPath:
      return "give an absolute path inside the cell, without \"..\"";
    case KeyType::kPathList:
      return "list absolute or ~/ paths without \"..\", such as " + example;
    case KeyType::kPlaceList:
      return "list absolute, ~/ or ./ paths without \"..\", such as " + example;
    case KeyType::kCount:
      return fmt::format("give a whole number from {} to {}", spec.min, spec.max);
    case KeyType::kShare:
      return fmt::format("give a number from {} to {}", static_cast<double>(spec.min) / 100,
                         static_cast<double>(spec.max) / 100);
    case KeyType::kBytes:
      return fmt::format("give a size from {} to {}, such as {}", number_text(spec, spec.min),
                         number_text(spec, spec.max), example);
    case KeyType::kDuration:
      return fmt::format("give a duration from {} to {}, such as {}", number_text(spec, spec.min),
                         number_text(spec, spec.max), example);
    case KeyType::kEnvNames:
      return "list names of variables, or PREFIX_* with its underscore, such as " + example;
    case KeyType::kEnvMap:
      return "give names and texts, such as " + example;
    case KeyType::kNetRules:
    case KeyType::kNetGrants:
      return "list hosts with their ports, such as " + example;
    case KeyType::kSocketGrants:
      return "list absolute or ~/ paths without \"..\", such as " + example;
    case KeyType::kSecrets:
      return "open each with [[secrets]]: name, hosts, one of header, query and basic, one of value_file, value_env "
             "and "
             "value_command";
    case KeyType::kSocketRules:
      return "open each with [[sockets.rules]]: path, methods, and context if the service wants one";
    case KeyType::kNetBounds:
      return "list rules, or \"*:443\" for every name";
    case KeyType::kSources:
      return "list \"file:DIRECTORY\", \"env:NAME\", \"env:PREFIX_*\" or \"command\"";
  }
  return {};
}

Status check_item(const KeySpec& spec, std::string_view item) {
  switch (spec.type) {
    case KeyType::kPathList:
    case KeyType::kPlaceList:
      return check_path(spec, item);
    case KeyType::kEnvNames:
      return check_env_pattern(spec, item);
    case KeyType::kNetRules:
      return check_net_rule(spec, item);
    case KeyType::kNetBounds:
      return check_net_bound(spec, item);
    case KeyType::kSources:
      return check_source(spec, item);
    default:
      return check_word(spec, item);
  }
}

Status check_env_entry(const KeySpec& spec, std::string_view name, std::string_view text) {
  if (!is_env_name(name)) return bad_value(spec, fmt::format("{} is not a variable's name", shown_text(name)));
  if (text.size() > kMaxEnvValueBytes) {
    return bad_value(spec, fmt::format("the value of {} is longer than {} bytes", shown_text(name), kMaxEnvValueBytes));
  }
  if (text.find('\0') != std::string_view::npos || !is_utf8(text)) {
    return bad_value(spec, fmt::format("the value of {} has a NUL or is not UTF-8", shown_text(name)));
  }
  return {};
}

Status check_value(const KeySpec& spec, const Value& value) {
  switch (spec.type) {
    case KeyType::kVersion:
      if (std::get<std::uint64_t>(value) == 1) return {};
      return bad_value(spec, fmt::format("{} is not a version this program reads", std::get<std::uint64_t>(value)));
    case KeyType::kParent:
      return check_parent(spec, std::get<std::string>(value));
    case KeyType::kWord:
      return check_word(spec, std::get<std::string>(value));
    case KeyType::kFlag:
      return {};
    case KeyType::kPath:
      return check_path(spec, std::get<std::string>(value));
    case KeyType::kShare:
      return check_share(spec, std::get<double>(value));
    case KeyType::kCount:
    case KeyType::kBytes:
    case KeyType::kDuration:
      return check_number(spec, std::get<std::uint64_t>(value));
    case KeyType::kWordList:
    case KeyType::kPathList:
    case KeyType::kPlaceList:
    case KeyType::kEnvNames:
    case KeyType::kNetRules:
    case KeyType::kNetBounds:
    case KeyType::kSources:
      return check_list(spec, std::get<TextList>(value));
    case KeyType::kNetGrants:
    case KeyType::kSocketGrants:
      return check_grants(spec, std::get<GrantList>(value));
    case KeyType::kSecrets:
      return check_secrets(spec, std::get<SecretList>(value));
    case KeyType::kSocketRules:
      return check_socket_rules(spec, std::get<SocketRules>(value));
    case KeyType::kEnvMap: {
      const auto& map = std::get<TextMap>(value);
      if (map.size() > kMaxListItems) return bad_value(spec, fmt::format("{} entries are too many", map.size()));
      for (const auto& [name, text] : map) CLOCHE_TRY(check_env_entry(spec, name, text));
      return {};
    }
  }
  return {};
}

Result<Value> parse_scalar(const KeySpec& spec, std::string_view text) {
  CLOCHE_TRY_ASSIGN(Value value, parse_unchecked(spec, text));
  CLOCHE_TRY(check_value(spec, value));
  return value;
}

std::size_t rank_of(const KeySpec& spec, std::string_view word) {
  return static_cast<std::size_t>(std::find(spec.words.begin(), spec.words.end(), word) - spec.words.begin());
}

std::string clean_path(std::string_view path) {
  std::string out;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (!part.empty() && part != ".") {
      if (!out.empty() || path.starts_with('/')) out += '/';
      out += part;
    }
    at = end + 1;
  }
  return out.empty() ? "/" : out;
}

bool path_covers(std::string_view prefix, std::string_view path) {
  const std::string outer = clean_path(prefix);
  const std::string inner = clean_path(path);
  if (outer == "/" || outer == inner) return true;
  return inner.size() > outer.size() && inner.starts_with(outer) && inner[outer.size()] == '/';
}

}  // namespace cloche
