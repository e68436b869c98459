#include "policy/toml_document.h"

#include <fmt/format.h>

#include "base/units.h"

// Without exceptions a syntax error is a value; without formatters no stream code is linked.
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_UNRELEASED_FEATURES 0
#define TOML_MAX_NESTED_VALUES 16
// A file such as "[=]" breaks an assertion of the library: a crash in one build and, as an assumption of the optimiser,
// undefined behaviour in another. Without either its own error handling refuses the file.
#undef NDEBUG
#define TOML_ASSERT(expr) static_cast<void>(0)
#include <toml++/toml.h>

namespace cloche {
namespace {

constexpr int kMaxDepth = 8;
constexpr int kMaxDotsPerLine = 32;

TextPosition to_position(const toml::source_position& position) {
  return {static_cast<std::uint32_t>(position.line), static_cast<std::uint32_t>(position.column)};
}

// Where the text is, as TOML sees it: dots in strings and comments nest nothing.
enum class Lex : std::uint8_t { kPlain, kComment, kBasic, kLiteral, kLongBasic, kLongLiteral };

struct LexStep {
  Lex state;
  std::size_t length;
};

LexStep lex_step(Lex state, std::string_view rest) {
  const char c = rest[0];
  switch (state) {
    case Lex::kPlain:
      if (c == '#') return {Lex::kComment, 1};
      if (rest.starts_with("\"\"\"")) return {Lex::kLongBasic, 3};
      if (rest.starts_with("'''")) return {Lex::kLongLiteral, 3};
      if (c == '"') return {Lex::kBasic, 1};
      if (c == '\'') return {Lex::kLiteral, 1};
      return {state, 1};
    case Lex::kComment:
      return {c == '\n' ? Lex::kPlain : state, 1};
    case Lex::kBasic:
      if (c == '\\' && rest.size() > 1) return {state, 2};
      return {c == '"' || c == '\n' ? Lex::kPlain : state, 1};
    case Lex::kLiteral:
      return {c == '\'' || c == '\n' ? Lex::kPlain : state, 1};
    case Lex::kLongBasic:
    case Lex::kLongLiteral: {
      const char mark = state == Lex::kLongBasic ? '"' : '\'';
      if (c == '\\' && state == Lex::kLongBasic && rest.size() > 1) return {state, 2};
      if (c != mark || !rest.starts_with(std::string(3, mark))) return {state, 1};
      // Up to two more marks belong to the string: """a""""" ends in two of its own.
      std::size_t length = 3;
      while (length < 5 && length < rest.size() && rest[length] == mark) ++length;
      return {Lex::kPlain, length};
    }
  }
  return {state, 1};
}

// Two texts must not reach the library, where no check of its result could come in time. It makes one nested table per
// dot of a key and destroys them by recursion, so a line of half a million dots overflows the stack. And where it looks
// for white space, between values and after a backslash in """, some letters beyond ASCII lead it into undefined
// behaviour; TOML has no place for them there.
Status check_text(std::string_view text, std::string_view file_name) {
  Lex state = Lex::kPlain;
  TextPosition at{1, 0};
  int dots = 0;
  for (std::size_t i = 0; i < text.size();) {
    const LexStep step = lex_step(state, text.substr(i));
    for (const char c : text.substr(i, step.length)) {
      ++at.column;
      if (c == '\n') {
        at = {at.line + 1, 0};
        dots = 0;
      }
      if (state == Lex::kPlain && c == '.' && ++dots > kMaxDotsPerLine) {
        return fail(ErrorCode::kInvalidInput, place(file_name, at),
                    fmt::format("more than {} dots in one line", kMaxDotsPerLine), "no key nests that deep");
      }
      if ((state == Lex::kPlain || state == Lex::kLongBasic) && (c & 0x80) != 0) {
        return fail(ErrorCode::kInvalidInput, place(file_name, at),
                    "a character beyond ASCII stands outside of \"...\"",
                    "write it in a one-line string or in a comment");
      }
    }
    state = step.state;
    i += step.length;
  }
  return {};
}

Result<TomlNode> convert(const toml::node& from, std::string_view file_name, int depth) {
  TomlNode out;
  out.position = to_position(from.source().begin);
  if (depth > kMaxDepth) {
    return fail(ErrorCode::kInvalidInput, place(file_name, out.position), "values are nested too deep",
                "no key nests that deep");
  }
  if (const auto* text = from.as_string()) {
    out.kind = TomlKind::kText;
    out.text = text->get();
  } else if (const auto* integer = from.as_integer()) {
    out.kind = TomlKind::kInteger;
    out.integer = integer->get();
  } else if (const auto* real = from.as_floating_point()) {
    out.kind = TomlKind::kFloat;
    out.real = real->get();
  } else if (const auto* flag = from.as_boolean()) {
    out.kind = TomlKind::kFlag;
    out.flag = flag->get();
  } else if (const auto* array = from.as_array()) {
    out.kind = TomlKind::kArray;
    for (const toml::node& item : *array) {
      CLOCHE_TRY_ASSIGN(TomlNode child, convert(item, file_name, depth + 1));
      out.children.push_back(std::move(child));
    }
  } else if (const auto* table = from.as_table()) {
    out.kind = TomlKind::kTable;
    for (const auto& [key, item] : *table) {
      CLOCHE_TRY_ASSIGN(TomlNode child, convert(item, file_name, depth + 1));
      child.key = key.str();
      child.key_position = to_position(key.source().begin);
      out.children.push_back(std::move(child));
    }
  } else {
    out.kind = TomlKind::kDate;
  }
  return out;
}

}  // namespace

std::string_view to_string(TomlKind kind) {
  switch (kind) {
    case TomlKind::kText:
      return "a string";
    case TomlKind::kInteger:
      return "a whole number";
    case TomlKind::kFloat:
      return "a decimal number";
    case TomlKind::kFlag:
      return "a truth value";
    case TomlKind::kDate:
      return "a date or time";
    case TomlKind::kArray:
      return "a list";
    case TomlKind::kTable:
      return "a table";
  }
  return "something else";
}

std::string place(std::string_view file_name, TextPosition position) {
  return fmt::format("{}:{}:{}", file_name, position.line, position.column);
}

Result<TomlNode> parse_toml(std::string_view text, std::string_view file_name) {
  if (text.size() > kMaxTomlBytes) {
    return fail(ErrorCode::kInvalidInput, std::string(file_name),
                fmt::format("the file has {} bytes, more than {}", text.size(), kMaxTomlBytes),
                "split the grants over smaller policies");
  }
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // the byte order mark some editors write
  CLOCHE_TRY(check_text(text, file_name));
  const toml::parse_result parsed = toml::parse(text, std::string_view());
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    // The library's sentence quotes the input.
    std::string message;
    for (const char c : error.description()) {
      if (c >= 0x20 && c < 0x7f) message += c;
    }
    return fail(ErrorCode::kInvalidInput, place(file_name, to_position(error.source().begin)), message.substr(0, 300),
                "this is not TOML");
  }
  return convert(parsed.table(), file_name, 0);
}

}  // namespace cloche
