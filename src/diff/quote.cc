#include "diff/quote.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/glyph.h"
#include "base/utf8.h"

namespace cloche::diff {
namespace {

// Controls that have a letter of their own in C, and the letters.
constexpr std::string_view kControls = "\a\b\t\n\v\f\r";
constexpr std::string_view kLetters = "abtnvfr";

std::string c_escapes(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    if (const std::size_t at = kControls.find(byte); at != std::string_view::npos) {
      out += {'\\', kLetters[at]};
    } else {
      out += fmt::format("\\{:03o}", static_cast<unsigned char>(byte));
    }
  }
  return out;
}

bool shown_as_escape(const Utf8Char& c) { return c.length == 0 || (c.code != '\t' && unsafe_to_show(c.code)); }

// Whether what follows a backslash would make the two read as an escape of ours, or as a doubled backslash.
bool continues_an_escape(std::string_view rest) {
  return !rest.empty() && (rest[0] == 'x' || rest[0] == 'u' || rest[0] == '\\' || shown_as_escape(decode_utf8(rest)));
}

}  // namespace

std::string quote_path(std::string_view path) {
  std::string out;
  bool quoted = false;
  while (!path.empty()) {
    const Utf8Char c = decode_utf8(path);
    const std::string_view bytes = path.substr(0, std::max<std::size_t>(c.length, 1));
    if (c.length == 0 || unsafe_to_show(c.code)) {
      quoted = true;
      out += c_escapes(bytes);
    } else if (c.code == '"' || c.code == '\\') {
      quoted = true;
      out += '\\';
      out += bytes;
    } else {
      out += bytes;
    }
    path.remove_prefix(bytes.size());
  }
  return quoted ? '"' + out + '"' : out;
}

std::string harmless_line(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  std::string out;
  out.reserve(line.size());
  while (!line.empty()) {
    const Utf8Char c = decode_utf8(line);
    const std::string_view bytes = line.substr(0, std::max<std::size_t>(c.length, 1));
    line.remove_prefix(bytes.size());
    if (c.length == 0 || (c.code < 0x80 && shown_as_escape(c))) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes[0]));
    } else if (shown_as_escape(c)) {
      out += fmt::format("\\u{{{:x}}}", static_cast<unsigned>(c.code));
    } else {
      out += bytes;
      if (c.code == '\\' && continues_an_escape(line)) out += '\\';
    }
  }
  return out;
}

}  // namespace cloche::diff
