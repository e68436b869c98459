#include "proto/json_print.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "base/utf8.h"

namespace cloche::proto {
namespace {

void print_escape(char32_t code, std::string& out) {
  const auto unit = [&](char32_t half) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(half));
  };
  if (code < 0x10000) return unit(code);
  unit(0xd800 + ((code - 0x10000) >> 10));
  unit(0xdc00 + ((code - 0x10000) & 0x3ff));
}

}  // namespace

void print_json_string(std::string_view text, std::string& out) {
  static constexpr std::string_view kControls = "\"\\\b\f\n\r\t";
  static constexpr std::string_view kLetters = "\"\\bfnrt";
  out += '"';
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    if (c.length == 0) {
      print_escape(0xfffd, out);
    } else if (const std::size_t at = c.length == 1 ? kControls.find(text[0]) : kControls.npos; at != kControls.npos) {
      out += {'\\', kLetters[at]};
    } else if (c.code < 0x20 || c.code > 0x7e) {
      print_escape(c.code, out);
    } else {
      out += text[0];
    }
    text.remove_prefix(std::max<std::size_t>(c.length, 1));
  }
  out += '"';
}

void print_json(const JsonValue& value, std::string& out) {
  switch (value.kind()) {
    case JsonKind::kString:
      return print_json_string(value.text(), out);
    case JsonKind::kArray:
    case JsonKind::kObject: {
      const char* separator = "";
      out += value.is_object() ? '{' : '[';
      for (const JsonValue& child : value.children()) {
        out += separator;
        separator = ",";
        if (value.is_object()) print_json_string(child.key(), out), out += ':';
        print_json(child, out);
      }
      out += value.is_object() ? '}' : ']';
      return;
    }
    default:
      out += value.text();  // a number or a word: the grammar left one way to read it
  }
}

std::string print_json(const JsonValue& value) {
  std::string out;
  print_json(value, out);
  return out;
}

std::string json_string(std::string_view text) {
  std::string out;
  print_json_string(text, out);
  return out;
}

}  // namespace cloche::proto
