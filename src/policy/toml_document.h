// A TOML text as a plain tree with positions. The one place that knows the TOML library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cloche {

inline constexpr std::size_t kMaxTomlBytes = 1 << 20;

struct TextPosition {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  auto operator<=>(const TextPosition&) const = default;
};

enum class TomlKind : std::uint8_t { kText, kInteger, kFloat, kFlag, kDate, kArray, kTable };

struct TomlNode {
  std::string key;  // empty in an array and at the root
  TextPosition key_position;
  TextPosition position;
  TomlKind kind = TomlKind::kTable;
  std::string text;
  std::int64_t integer = 0;
  double real = 0;
  bool flag = false;
  std::vector<TomlNode> children;
};

std::string_view to_string(TomlKind kind);  // "a string", "a whole number": for "… is not …"

// The step of an error is "file:line:column".
Result<TomlNode> parse_toml(std::string_view text, std::string_view file_name);
std::string place(std::string_view file_name, TextPosition position);

}  // namespace cloche
