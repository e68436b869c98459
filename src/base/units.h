// Values with their unit in the type, and their one text form ("512M", "1500ms").
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cloche {

struct Bytes {
  std::uint64_t count = 0;
  constexpr auto operator<=>(const Bytes&) const = default;
};

constexpr Bytes kibibytes(std::uint64_t n) { return {n << 10}; }
constexpr Bytes mebibytes(std::uint64_t n) { return {n << 20}; }
constexpr Bytes gibibytes(std::uint64_t n) { return {n << 30}; }

using Millis = std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// "64", "64K", "1.5G", "512MiB"; powers of 1024. Refuses negative, empty, unknown units and overflow.
Result<Bytes> parse_bytes(std::string_view text);
// "250ms", "10s", "1.5m", "2h"; a bare number is refused because its unit is a guess.
Result<Millis> parse_duration(std::string_view text);

// A text from outside as a message may show it: in quotes, cut at 64 bytes, control characters and non-ASCII bytes
// escaped, so that hostile input cannot drive the reader's terminal.
std::string shown_text(std::string_view text);

std::string to_text(Bytes bytes);   // the largest unit that is exact: "512M", "1025"
std::string to_text(Millis value);  // "1500ms", "10s", "5m"

}  // namespace cloche
