#include "base/glyph.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "base/utf8.h"

namespace cloche {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// What a terminal acts upon or a reader cannot see: controls, direction overrides (text that reads other than it is),
// zero-width and tag characters, line and paragraph separators.
constexpr std::array kUnsafe = std::to_array<Range>({
    {0x0000, 0x001f},
    {0x007f, 0x009f},
    {0x00ad, 0x00ad},
    {0x034f, 0x034f},
    {0x061c, 0x061c},
    {0x115f, 0x1160},
    {0x17b4, 0x17b5},
    {0x180b, 0x180f},
    {0x200b, 0x200f},
    {0x2028, 0x202e},
    {0x2060, 0x206f},
    {0x3164, 0x3164},
    {0xfeff, 0xfeff},
    {0xffa0, 0xffa0},
    {0xfff0, 0xfffb},
    {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a},
    {0xe0000, 0xe0fff},
});

constexpr std::array kNarrow = std::to_array<Range>({
    {0x0300, 0x036f},
    {0x0483, 0x0489},
    {0x0591, 0x05bd},
    {0x1ab0, 0x1aff},
    {0x1dc0, 0x1dff},
    {0x20d0, 0x20ff},
    {0xfe00, 0xfe0f},
    {0xfe20, 0xfe2f},
});
constexpr std::array kWide = std::to_array<Range>({
    {0x1100, 0x115f},
    {0x2e80, 0x303e},
    {0x3041, 0xa4cf},
    {0xac00, 0xd7a3},
    {0xf900, 0xfaff},
    {0xfe30, 0xfe6f},
    {0xff00, 0xff60},
    {0xffe0, 0xffe6},
    {0x1f300, 0x1f64f},
    {0x1f680, 0x1f6ff},
    {0x1f900, 0x1f9ff},
    {0x20000, 0x3fffd},
});

template <std::size_t N>
constexpr bool within(const std::array<Range, N>& ranges, char32_t code) {
  for (const Range& range : ranges) {
    if (code < range.first) return false;
    if (code <= range.last) return true;
  }
  return false;
}

}  // namespace

bool unsafe_to_show(char32_t code) { return within(kUnsafe, code); }

std::size_t columns_of(char32_t code) { return within(kNarrow, code) ? 0 : within(kWide, code) ? 2 : 1; }

std::string toml_escape(char32_t code) {
  const auto number = static_cast<std::uint32_t>(code);
  return number > 0xffff ? fmt::format("\\U{:08x}", number) : fmt::format("\\u{:04x}", number);
}

std::string shown_policy_line(std::string_view line) {
  std::string out;
  while (!line.empty()) {
    const Utf8Char c = decode_utf8(line);
    const std::string_view bytes = line.substr(0, std::max<std::size_t>(c.length, 1));
    line.remove_prefix(bytes.size());
    if (c.length == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes[0]));  // no policy may have it
    } else if (unsafe_to_show(c.code)) {
      out += toml_escape(c.code);
    } else {
      out += bytes;
    }
  }
  return out;
}

}  // namespace cloche
