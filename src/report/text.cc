#include "report/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/glyph.h"
#include "base/utf8.h"

namespace cloche {
namespace {

struct Glyph {
  std::size_t length;
  std::size_t columns;
};

Glyph first_glyph(std::string_view text) {
  const Utf8Char c = decode_utf8(text);
  if (c.length == 0) return {1, 1};
  return {c.length, columns_of(c.code)};
}

// The longest start of the text that fits, in bytes.
std::size_t prefix_that_fits(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Glyph glyph = first_glyph(text.substr(at));
    if (glyph.columns > columns) break;
    columns -= glyph.columns;
    at += glyph.length;
  }
  return at;
}

std::string without_trailing_spaces(std::string_view text) {
  return std::string(text.substr(0, text.find_last_not_of(' ') + 1));
}

bool plain_for_a_shell(std::string_view text) {
  constexpr std::string_view kPunctuation = "_-./=:,@%+";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kPunctuation.find(c) != std::string_view::npos;
  });
}

// "1.2", but "10" instead of "10.0".
std::string one_decimal(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    const std::size_t length = std::max<std::size_t>(c.length, 1);
    if (c.length == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (c.code == '\\') {
      out += "\\\\";
    } else if (!unsafe_to_show(c.code)) {
      out += text.substr(0, length);
    } else if (c.code == '\n') {
      out += "\\n";
    } else if (c.code == '\r') {
      out += "\\r";
    } else if (c.code == '\t') {
      out += "\\t";
    } else if (c.code < 0x80) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c.code));
    } else {
      out += fmt::format("\\u{{{:x}}}", static_cast<unsigned>(c.code));
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string printable_word(std::string_view text) {
  constexpr std::string_view kPunctuation = "/._:@,+=~%-";
  const bool plain = !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || kPunctuation.contains(c);
  });
  if (plain) return std::string(text);
  std::string out = "\"";
  for (const char c : printable(text)) {
    if (c == '"') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string shortened(std::string_view text, std::size_t columns) {
  std::vector<std::size_t> ends{0};    // of characters
  std::vector<std::size_t> widths{0};  // of what is before them
  while (ends.back() < text.size()) {
    const std::string_view rest = text.substr(ends.back());
    const std::size_t length = std::max<std::size_t>(decode_utf8(rest).length, 1);
    widths.push_back(widths.back() + display_width(printable(rest.substr(0, length))));
    ends.push_back(ends.back() + length);
  }
  if (widths.back() <= columns) return std::string(text);
  // The last name says more than the first directories do.
  const auto head = std::ranges::upper_bound(widths, columns / 3) - widths.begin() - 1;
  const std::size_t rest = columns - std::min(columns, columns / 3 + 1);
  const auto tail = std::ranges::lower_bound(widths, widths.back() - rest) - widths.begin();
  return std::string(text.substr(0, ends[static_cast<std::size_t>(head)])) + "…" +
         std::string(text.substr(ends[static_cast<std::size_t>(tail)]));
}

std::string printable_command(const std::vector<std::string>& argv) {
  std::string out;
  for (const std::string& arg : argv) {
    if (!out.empty()) out += ' ';
    if (plain_for_a_shell(arg)) {
      out += arg;
      continue;
    }
    out += '\'';
    for (const char c : printable(arg)) {
      if (c == '\'') {
        out += "'\\''";
      } else {
        out += c;
      }
    }
    out += '\'';
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Glyph glyph = first_glyph(text);
    columns += glyph.columns;
    text.remove_prefix(glyph.length);
  }
  return columns;
}

std::string fit(std::string_view text, std::size_t columns) {
  if (prefix_that_fits(text, columns) == text.size()) return std::string(text);
  if (columns == 0) return {};
  return std::string(text.substr(0, prefix_that_fits(text, columns - 1))) + "…";
}

std::string pad(std::string_view text, std::size_t columns) {
  const std::size_t width = display_width(text);
  return std::string(text) + std::string(columns > width ? columns - width : 0, ' ');
}

std::vector<std::string> wrap(std::string_view text, std::size_t columns, std::size_t max_lines) {
  // Two columns hold any glyph, so that each turn of the loop makes progress.
  columns = std::max<std::size_t>(columns, 2);
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::size_t cut = prefix_that_fits(text, columns);
    if (cut == text.size()) {
      lines.push_back(without_trailing_spaces(text));
      break;
    }
    if (lines.size() + 1 >= max_lines) {
      lines.push_back(fit(text, columns));
      break;
    }
    std::size_t skip = 0;
    if (const std::size_t space = text.substr(0, cut + 1).rfind(' '); space != std::string_view::npos && space > 0) {
      cut = space;
      skip = 1;
    }
    lines.push_back(without_trailing_spaces(text.substr(0, cut)));
    text.remove_prefix(cut + skip);
  }
  return lines;
}

std::string human(Bytes bytes) {
  if (bytes.count == 1) return "1 byte";
  if (bytes.count < 1024) return fmt::format("{} bytes", bytes.count);
  constexpr std::string_view kUnits = "KMGTPE";
  auto value = static_cast<double>(bytes.count);
  std::size_t unit = 0;
  for (value /= 1024; value >= 1023.95 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return one_decimal(value) + kUnits[unit];
}

std::string human(Seconds value) {
  const double seconds = std::max(value.count(), 0.0);
  if (seconds < 0.000'999'5) return fmt::format("{:.0f}us", seconds * 1e6);
  if (seconds < 0.999'95) return one_decimal(seconds * 1e3) + "ms";
  if (seconds < 59.95) return one_decimal(seconds) + "s";
  const auto whole = std::llround(seconds);
  if (whole < 3600) return fmt::format("{}m {}s", whole / 60, whole % 60);
  return fmt::format("{}h {}m", whole / 3600, whole / 60 % 60);
}

}  // namespace cloche
