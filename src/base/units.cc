#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <optional>

namespace cloche {
namespace {

__extension__ using Wide = unsigned __int128;

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array<Unit, 10> kByteUnits{{{"", 1},
                                           {"B", 1},
                                           {"K", 1ULL << 10},
                                           {"KiB", 1ULL << 10},
                                           {"M", 1ULL << 20},
                                           {"MiB", 1ULL << 20},
                                           {"G", 1ULL << 30},
                                           {"GiB", 1ULL << 30},
                                           {"T", 1ULL << 40},
                                           {"TiB", 1ULL << 40}}};
constexpr std::array<Unit, 4> kTimeUnits{{{"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}}};

// 10^18 fits 64 bits and times the largest unit still fits 128.
constexpr std::size_t kMaxFractionDigits = 18;

enum class Flaw : std::uint8_t { kNotANumber, kNegative, kOverflow, kFraction, kUnit };

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Integer arithmetic throughout: "0.1G" in floating point is not the number the user wrote.
template <std::size_t N>
std::expected<std::uint64_t, Flaw> parse_scaled(std::string_view text, const std::array<Unit, N>& units,
                                                std::uint64_t max) {
  if (text.starts_with('-')) return std::unexpected(Flaw::kNegative);
  std::size_t at = 0;
  Wide whole = 0;
  while (at < text.size() && is_digit(text[at])) {
    whole = whole * 10 + static_cast<unsigned>(text[at++] - '0');
    if (whole > max) return std::unexpected(Flaw::kOverflow);
  }
  if (at == 0) return std::unexpected(Flaw::kNotANumber);
  Wide fraction = 0;
  Wide scale = 1;
  if (at < text.size() && text[at] == '.') {
    const std::size_t begin = ++at;
    while (at < text.size() && is_digit(text[at])) ++at;
    if (at == begin) return std::unexpected(Flaw::kNotANumber);
    std::string_view digits = text.substr(begin, at - begin);
    while (!digits.empty() && digits.back() == '0') digits.remove_suffix(1);
    if (digits.size() > kMaxFractionDigits) return std::unexpected(Flaw::kFraction);
    for (const char c : digits) {
      fraction = fraction * 10 + static_cast<unsigned>(c - '0');
      scale *= 10;
    }
  }
  const std::string_view unit_name = text.substr(at);
  for (const Unit& unit : units) {
    if (unit.name != unit_name) continue;
    const Wide scaled_fraction = fraction * unit.factor;
    if (scaled_fraction % scale != 0) return std::unexpected(Flaw::kFraction);
    const Wide total = whole * unit.factor + scaled_fraction / scale;
    if (total > max) return std::unexpected(Flaw::kOverflow);
    return static_cast<std::uint64_t>(total);
  }
  return std::unexpected(Flaw::kUnit);
}

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
  const auto parsed = parse_scaled(text, kByteUnits, std::numeric_limits<std::uint64_t>::max());
  if (parsed) return Bytes{*parsed};
  const std::string shown = shown_text(text);
  const std::string hint = "write a number with K, M, G or T (powers of 1024), such as \"512M\"";
  switch (parsed.error()) {
    case Flaw::kNegative:
      return fail(ErrorCode::kInvalidInput, "size", fmt::format("{} is negative", shown), hint);
    case Flaw::kOverflow:
      return fail(ErrorCode::kInvalidInput, "size", fmt::format("{} does not fit 64 bits", shown), hint);
    case Flaw::kFraction:
      return fail(ErrorCode::kInvalidInput, "size", fmt::format("{} is not a whole number of bytes", shown), hint);
    case Flaw::kUnit:
      return fail(ErrorCode::kInvalidInput, "size", fmt::format("{} has an unknown unit", shown), hint);
    case Flaw::kNotANumber:
      break;
  }
  return fail(ErrorCode::kInvalidInput, "size", fmt::format("{} is not a size", shown), hint);
}

Result<Millis> parse_duration(std::string_view text) {
  const auto parsed = parse_scaled(text, kTimeUnits, static_cast<std::uint64_t>(Millis::max().count()));
  if (parsed) return Millis{static_cast<Millis::rep>(*parsed)};
  const std::string shown = shown_text(text);
  const std::string hint = "write a number with ms, s, m or h, such as \"10s\"";
  switch (parsed.error()) {
    case Flaw::kNegative:
      return fail(ErrorCode::kInvalidInput, "duration", fmt::format("{} is negative", shown), hint);
    case Flaw::kOverflow:
      return fail(ErrorCode::kInvalidInput, "duration", fmt::format("{} does not fit 63 bits", shown), hint);
    case Flaw::kFraction:
      return fail(ErrorCode::kInvalidInput, "duration", fmt::format("{} is not a whole number of milliseconds", shown),
                  hint);
    case Flaw::kUnit:
      return fail(ErrorCode::kInvalidInput, "duration", fmt::format("{} has no known unit", shown), hint);
    case Flaw::kNotANumber:
      break;
  }
  return fail(ErrorCode::kInvalidInput, "duration", fmt::format("{} is not a duration", shown), hint);
}

std::string shown_text(std::string_view text) {
  constexpr std::size_t kMaxShown = 64;
  std::string out = "\"";
  for (const char c : text.substr(0, kMaxShown)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c >= 0x20 && c < 0x7f) {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  if (text.size() > kMaxShown) out += "...";
  return out + "\"";
}

std::string to_text(Bytes bytes) {
  constexpr std::array<Unit, 4> kUnits{{{"T", 1ULL << 40}, {"G", 1ULL << 30}, {"M", 1ULL << 20}, {"K", 1ULL << 10}}};
  for (const Unit& unit : kUnits) {
    if (bytes.count != 0 && bytes.count % unit.factor == 0)
      return fmt::format("{}{}", bytes.count / unit.factor, unit.name);
  }
  return fmt::format("{}", bytes.count);
}

std::string to_text(Millis value) {
  constexpr std::array<Unit, 3> kUnits{{{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}}};
  for (const Unit& unit : kUnits) {
    const auto factor = static_cast<Millis::rep>(unit.factor);
    if (value.count() != 0 && value.count() % factor == 0)
      return fmt::format("{}{}", value.count() / factor, unit.name);
  }
  return fmt::format("{}ms", value.count());
}

}  // namespace cloche
