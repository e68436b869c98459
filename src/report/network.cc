#include "report/network.h"

namespace cloche {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAllowed:
      return "allowed";
    case Verdict::kDenied:
      return "denied";
    case Verdict::kFailed:
      return "failed";
  }
  return "failed";
}

std::string_view to_string(Via via) {
  switch (via) {
    case Via::kDirect:
      return "direct";
    case Via::kProxy:
      return "proxy";
    case Via::kSocks:
      return "socks";
    case Via::kDns:
      return "dns";
    case Via::kSocket:
      return "socket";
  }
  return "direct";
}

std::optional<Verdict> verdict_from(std::string_view name) {
  for (std::size_t i = 0; i < kVerdictCount; ++i) {
    if (to_string(static_cast<Verdict>(i)) == name) return static_cast<Verdict>(i);
  }
  return std::nullopt;
}

std::optional<Via> via_from(std::string_view name) {
  for (std::size_t i = 0; i < kViaCount; ++i) {
    if (to_string(static_cast<Via>(i)) == name) return static_cast<Via>(i);
  }
  return std::nullopt;
}

}  // namespace cloche
