// The few terminal sequences that we send ourselves.
#pragma once

#include <string>
#include <string_view>

#include "report/outcome_info.h"
#include "report/render.h"

namespace cloche {

enum class Hue : std::uint8_t { kGreen, kYellow, kRed, kDim };

inline std::string paint(std::string_view text, Hue hue, Colour colour) {
  if (colour == Colour::kNever || text.empty()) return std::string(text);
  constexpr std::string_view kCodes[] = {"\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[2m"};
  std::string out(kCodes[static_cast<std::size_t>(hue)]);
  out += text;
  out += "\x1b[0m";
  return out;
}

inline Hue hue_of(Severity severity) {
  switch (severity) {
    case Severity::kGood:
      return Hue::kGreen;
    case Severity::kGuest:
      return Hue::kYellow;
    case Severity::kStopped:
      return Hue::kRed;
  }
  return Hue::kRed;
}

inline Hue hue_of(Standing standing) {
  switch (standing) {
    case Standing::kHeld:
      return Hue::kGreen;
    case Standing::kWeakened:
      return Hue::kYellow;
    case Standing::kAbsent:
      return Hue::kRed;
  }
  return Hue::kRed;
}

}  // namespace cloche
