#include "report/json_writer.h"

#include <nlohmann/json.hpp>

#include "base/utf8.h"

namespace cloche {
namespace {

constexpr char kHex[] = "0123456789abcdef";

void append_unit(std::string& out, std::uint32_t unit) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[unit >> shift & 0xf];
}

// Of text that is valid UTF-8: the character at `at`, which moves on.
std::uint32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::uint32_t lead = byte(at);
  const unsigned more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
  std::uint32_t out = lead & (0x3fu >> more);
  for (unsigned i = 1; i <= more; ++i) out = out << 6 | (byte(at + i) & 0x3fu);
  at += more + 1;
  return out;
}

char short_escape(char c) {
  switch (c) {
    case '"':
    case '\\':
      return c;
    case '\b':
      return 'b';
    case '\f':
      return 'f';
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    default:
      return 0;
  }
}

bool is_plain(char c) {
  const auto code = static_cast<unsigned char>(c);
  return code >= 0x20 && code < 0x7f && c != '"' && c != '\\';
}

}  // namespace

void JsonWriter::new_line() {
  out_ += '\n';
  out_.append(2 * depth_, ' ');
}

void JsonWriter::before_value() {
  if (std::exchange(after_name_, false) || depth_ == 0) return;
  if (!std::exchange(first_, false)) out_ += ',';
  new_line();
}

JsonWriter& JsonWriter::name(std::string_view key) {
  before_value();
  quote(key);
  out_ += ": ";
  after_name_ = true;
  return *this;
}

void JsonWriter::raw(std::string_view text) {
  before_value();
  out_ += text;
}

void JsonWriter::begin(char bracket) {
  before_value();
  out_ += bracket;
  ++depth_;
  first_ = true;
}

void JsonWriter::end(char bracket) {
  --depth_;
  if (!first_) new_line();
  out_ += bracket;
  first_ = false;
}

void JsonWriter::value(std::string_view text) {
  before_value();
  quote(text);
}

void JsonWriter::quote(std::string_view text) {
  // What is not text is rare, and how to mend it is known elsewhere.
  if (!valid_utf8(text)) {
    using Json = nlohmann::json;
    out_ += Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
    return;
  }
  out_ += '"';
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const auto code = static_cast<unsigned char>(c);
    if (const char escape = short_escape(c); escape != 0) {
      out_ += '\\';
      out_ += escape;
      ++at;
    } else if (code < 0x20 || code == 0x7f) {
      append_unit(out_, code);
      ++at;
    } else if (code < 0x80) {
      std::size_t end = at + 1;
      while (end < text.size() && is_plain(text[end])) ++end;
      out_.append(text.substr(at, end - at));
      at = end;
    } else if (const std::uint32_t character = next_character(text, at); character < 0x10000) {
      append_unit(out_, character);
    } else {
      append_unit(out_, 0xd800 + ((character - 0x10000) >> 10));
      append_unit(out_, 0xdc00 + ((character - 0x10000) & 0x3ff));
    }
  }
  out_ += '"';
}

}  // namespace cloche
