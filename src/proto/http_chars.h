// Which bytes may stand where in HTTP/1.1 (RFC 9110 section 5.6, RFC 9112), and comparing names of headers.
#pragma once

#include <algorithm>
#include <string_view>

namespace cloche::proto {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  const char low = to_lower(c);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

constexpr bool is_token_char(char c) {
  return is_digit(c) || is_alpha(c) || (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").contains(c));
}
constexpr bool is_token(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_token_char); }

// A tab, a blank, what can be seen, and bytes beyond ASCII, which real names of files and cookies hold.
constexpr bool is_value_char(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
}
constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }

constexpr std::string_view trim_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// What a header may hold so that it is read back as the same: no blank at either end.
constexpr bool is_header_value(std::string_view text) {
  return std::ranges::all_of(text, is_value_char) && trim_blanks(text).size() == text.size();
}

// Without regard to case, ASCII only.
constexpr bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return to_lower(x) == to_lower(y); });
}

}  // namespace cloche::proto
