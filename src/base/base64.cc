#include "base/base64.h"

#include <array>
#include <cstdint>

namespace cloche {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNone = 0xff;

constexpr std::array<std::uint8_t, 256> kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNone);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<std::uint8_t>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}();

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = bytes.size() - i;
    const auto byte = [&](std::size_t k) -> std::uint32_t {
      return k < left ? static_cast<std::uint8_t>(bytes[i + k]) : 0u;
    };
    const std::uint32_t word = byte(0) << 16 | byte(1) << 8 | byte(2);
    out += kAlphabet[word >> 18];
    out += kAlphabet[word >> 12 & 63];
    out += left > 1 ? kAlphabet[word >> 6 & 63] : '=';
    out += left > 2 ? kAlphabet[word & 63] : '=';
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t digits = text.size();
  while (digits > 0 && text.size() - digits < 2 && text[digits - 1] == '=') --digits;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t word = 0;
  unsigned bits = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const std::uint8_t value = kValues[static_cast<std::uint8_t>(text[i])];
    if (value == kNone) return std::nullopt;
    word = (word << 6 | value) & 0xffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>(word >> bits & 0xff);
    }
  }
  if ((word & ((1u << bits) - 1)) != 0) return std::nullopt;
  return out;
}

}  // namespace cloche
